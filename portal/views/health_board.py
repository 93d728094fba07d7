"""The health board: what is wrong, since when, whom it hits and what to do; and how the pollers themselves do."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from allocations import queries, rules
from inventory import queries as facts
from inventory.models import Finding
from inventory.survey import slices_in_turn
from portal.celery import JUDGE_INTERVAL_S, OUTBOX_INTERVAL_S, ROLL_UP_INTERVAL_S, SEAL_INTERVAL_S

LATE_AFTER = 4  # ticks of a clock that were missed; a worker that is busy misses one or two


@dataclass(frozen=True, slots=True)
class Part:
    """A part that works by the clock. `at`: what its rows show last; `waiting`, `since`: what it has still to do."""

    name: str | Promise
    does: str | Promise
    every_s: float
    at: datetime | None
    waiting: int | None = None
    since: datetime | None = None
    parked: int = 0
    is_late: bool = False


@login_required
@require_safe
@vary_on_headers("HX-Target")
def health(request: HttpRequest) -> HttpResponse:
    """The whole page, or the part that the live refresh asks for."""
    rules.require(request.user, "see_fleet")
    now = timezone.now()
    lines, hits = facts.troubles(), queries.hit_by_cause()
    polling = facts.polling(slices=len(slices_in_turn(now=now)))
    context: dict[str, Any] = {
        "lines": [(line, hits.get(line.key, [])) for line in lines],
        "counts": {level: sum(line.severity == level for line in lines) for level in Finding.Severity.values},
        "ended": facts.ended_troubles(now=now),
        "ended_days": facts.ENDED_DAYS,
        "windows": facts.nodes_out(),
        "agents": facts.unfit_agents(),
        "polling": polling,
        "parts": _parts(now),
        "may_cordon": rules.can(request.user, "cordon_node"),
    }
    is_part = request.htmx and request.htmx.target == "board"
    return render(request, f"health/board.html{'#board' if is_part else ''}", context)


def _parts(now: datetime) -> list[Part]:
    """Who works by the clock, by what its rows show."""
    seen, letters = facts.heartbeats(), queries.letters()

    def is_old(at: datetime | None, every_s: float) -> bool:
        return at is not None and at < now - timedelta(seconds=LATE_AFTER * every_s)

    # What was rolled up last is a span of five minutes, which stands only once it is over.
    rolled_up_to = seen.rolled_up_to and seen.rolled_up_to + timedelta(minutes=5)
    return [
        Part(
            _("Judging"), _("says what each GPU does"), JUDGE_INTERVAL_S, seen.judged_at,
            is_late=is_old(seen.judged_at, JUDGE_INTERVAL_S),
        ),
        Part(
            _("Roll-up"), _("adds readings up to five minutes and hours"), ROLL_UP_INTERVAL_S, rolled_up_to,
            is_late=is_old(rolled_up_to, ROLL_UP_INTERVAL_S + 75),
        ),
        Part(
            _("Seal"), _("chains the events of the trail"), SEAL_INTERVAL_S, seen.sealed_at, seen.unsealed,
            seen.unsealed_since, is_late=is_old(seen.unsealed_since, SEAL_INTERVAL_S),
        ),
        Part(
            _("Letters"), _("sends mail and chat"), OUTBOX_INTERVAL_S, None, letters.waiting, letters.since,
            letters.parked, is_late=letters.since is not None and letters.since < now - timedelta(minutes=10),
        ),
    ]  # fmt: skip
