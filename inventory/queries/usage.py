"""How one GPU was used, span by span: what rollups say, whoever held it, with every gap as a gap."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from inventory.models import Gpu, UsageFiveMinutes, UsageHour

SPAN = timedelta(minutes=5)
HOUR = timedelta(hours=1)


class Span(NamedTuple):
    """What the GPU did in the span that begins then. None is unknown: no reading told it; never zero."""

    begins_at: datetime
    busy_s: float = 0.0
    idle_s: float = 0.0
    unknown_s: float = 0.0
    util_pct: float | None = None
    util_max_pct: float | None = None
    power_w: float | None = None

    @property
    def known_s(self) -> float:
        """Seconds of which readings tell the use."""
        return self.busy_s + self.idle_s


def by_five_minutes(gpu: Gpu, *, since: datetime, until: datetime) -> list[Span]:
    """Every span of five minutes (UTC) from `since` until `until`; those that nobody rolled up are unknown."""
    return _filled(UsageFiveMinutes, gpu, SPAN, since, until)


def by_hours(gpu: Gpu, *, since: datetime, until: datetime) -> list[Span]:
    """Every hour (UTC) from `since` until `until`; those that nobody rolled up are unknown."""
    return _filled(UsageHour, gpu, HOUR, since, until)


def joined(spans: list[Span], size: timedelta) -> list[Span]:
    """The spans in longer ones of `size` that begin with the first; means weigh the known seconds."""
    parts: dict[datetime, list[Span]] = {}
    for span in spans:
        begins_at = spans[0].begins_at + (span.begins_at - spans[0].begins_at) // size * size
        parts.setdefault(begins_at, []).append(span)
    return [_together(begins_at, part) for begins_at, part in parts.items()]


def _filled(
    table: type[UsageFiveMinutes] | type[UsageHour], gpu: Gpu, size: timedelta, since: datetime, until: datetime
) -> list[Span]:
    fields = ("begins_at", "busy_s", "idle_s", "unknown_s", "util_mean_pct", "util_max_pct", "power_mean_w")
    rows = table._default_manager.filter(gpu=gpu, begins_at__gte=since, begins_at__lt=until)
    told: dict[datetime, list[Span]] = {}
    for row in rows.values_list(*fields):
        told.setdefault(row[0], []).append(Span(*row))
    return [
        _together(begins_at, told[begins_at]) if begins_at in told else Span(begins_at, unknown_s=size.total_seconds())
        for begins_at in _begins(since, until, size)
    ]


def _begins(since: datetime, until: datetime, size: timedelta) -> Iterator[datetime]:
    while since < until:
        yield since
        since += size


def _together(begins_at: datetime, spans: list[Span]) -> Span:
    def mean(pairs: list[tuple[float | None, float]]) -> float | None:
        told = [(value, weight) for value, weight in pairs if value is not None and weight > 0]
        return sum(value * weight for value, weight in told) / sum(weight for _value, weight in told) if told else None

    highest = [span.util_max_pct for span in spans if span.util_max_pct is not None]
    return Span(
        begins_at,
        sum(span.busy_s for span in spans),
        sum(span.idle_s for span in spans),
        sum(span.unknown_s for span in spans),
        mean([(span.util_pct, span.known_s) for span in spans]),
        max(highest, default=None),
        # A node may tell the power where it does not tell the use.
        mean([(span.power_w, span.known_s + span.unknown_s) for span in spans]),
    )
