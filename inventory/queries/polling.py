"""How the pollers themselves do: what they asked lately, how long it took, and whether they still go on."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, F, Max, Min, Q, QuerySet
from django.utils import timezone

from inventory.models import Activity, Event, EventSeal, Node, Survey, UsageFiveMinutes
from inventory.queries.addresses import polled_nodes
from inventory.queries.enrolment import with_agents
from inventory.queries.freshness import stale_after_s

LOOKED_BACK = timedelta(minutes=10)
SURVEYS_MOST = 5_000  # of those minutes; a hundred slices of the largest fleet make fewer
NAMED_MOST = 20  # nodes under a sentence


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of the fleet. `asked_at`: when the newest of its answers was asked for, None before the first.

    `answered` of its nodes spoke in the last interval or two; `silent` do not answer.
    """

    number: int
    nodes: int
    answered: int
    silent: int
    asked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Polling:
    """The last minutes. `kept_pct`: surveys made of those that were due; None where nothing is polled or none yet was.

    `stands_still`: nodes are to be asked, and the newest survey is older than readings may be.
    """

    newest: Survey | None
    nodes: int
    stands_still: bool
    kept_pct: int | None
    survey_s: float | None
    survey_most_s: float | None
    readings_a_minute: int | None
    asked: int
    answered: int
    slices: list[Slice]

    @property
    def silent(self) -> int:
        """How many nodes do not answer."""
        return sum(part.silent for part in self.slices)

    @property
    def interval_s(self) -> int:
        """How often each node is to be asked."""
        return int(settings.POLL_INTERVAL_S)


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """What the rows say about who works: when use was judged and rolled up last, how far the trail is sealed.

    `unsealed`: events that wait for their link of the chain, the oldest since `unsealed_since`.
    """

    judged_at: datetime | None
    rolled_up_to: datetime | None
    sealed_at: datetime | None
    unsealed: int
    unsealed_since: datetime | None


@dataclass(frozen=True, slots=True)
class Agents:
    """Agents that are not as they should be. `otherwise`: they say another mode than the wanted one, first ones named.

    `old`: they answer and speak the first protocol, which reports no faults. `versions`: version -> nodes.
    """

    otherwise: list[Node]
    otherwise_count: int
    old: list[Node]
    old_count: int
    versions: list[tuple[str, int]]


def polling(*, slices: int) -> Polling:
    """The last minutes of polling a fleet of that many slices; three queries at most."""
    now = timezone.now()
    lately = [row for row in Survey.objects.order_by("-pk")[:SURVEYS_MOST] if row.finished_at > now - LOOKED_BACK]
    parts = _slices(slices, now)
    nodes = sum(part.nodes for part in parts)
    newest = lately[0] if lately else Survey.objects.order_by("-pk").first()
    took_s = [(row.finished_at - row.started_at).total_seconds() for row in lately]
    span_s = (now - min(row.started_at for row in lately)).total_seconds() if lately else 0.0
    due = max(1, int(span_s / int(settings.POLL_INTERVAL_S))) * slices
    return Polling(
        newest=newest,
        nodes=nodes,
        stands_still=nodes > 0 and (newest is None or newest.finished_at < now - timedelta(seconds=stale_after_s())),
        kept_pct=min(100, round(100 * len(lately) / due)) if lately and nodes else None,
        survey_s=sum(took_s) / len(took_s) if took_s else None,
        survey_most_s=max(took_s, default=None),
        readings_a_minute=round(60 * sum(row.gpus_seen for row in lately) / max(span_s, 60)) if lately else None,
        asked=sum(row.nodes_asked for row in lately),
        answered=sum(row.nodes_answered for row in lately),
        slices=parts,
    )


def late_surveys() -> QuerySet[Survey]:
    """The newest survey, if nodes are polled and it is older than readings may be; for a count."""
    newest = Survey.objects.order_by("-pk").values("pk")[:1]
    late = timezone.now() - timedelta(seconds=stale_after_s())
    return Survey.objects.filter(pk__in=newest, finished_at__lt=late)


def heartbeats() -> Heartbeats:
    """Who worked last; four queries, whatever the number of rows."""
    last = EventSeal.objects.select_related("event").order_by("-position").first()
    waiting = Event.objects.filter(pk__gt=last.event_id if last else 0).order_by()
    told = waiting.aggregate(n=Count("pk"), since=Min("at"))
    return Heartbeats(
        judged_at=Activity.objects.aggregate(at=Max("judged_at"))["at"],
        rolled_up_to=UsageFiveMinutes.objects.order_by().aggregate(at=Max("begins_at"))["at"],
        sealed_at=last.event.at if last else None,
        unsealed=told["n"],
        unsealed_since=told["since"],
    )


def unfit_agents() -> Agents:
    """Agents in another mode than wanted, or of the first protocol, and all versions; three queries."""
    answering = with_agents().filter(silent_since=None, answered_at__isnull=False)
    otherwise = list(answering.exclude(said_mode="").exclude(said_mode=F("mode")).order_by("name"))
    old = list(answering.filter(agent_version="").order_by("name"))
    counted = answering.order_by().values_list("agent_version").annotate(nodes=Count("pk"))
    return Agents(
        otherwise=otherwise[:NAMED_MOST],
        otherwise_count=len(otherwise),
        old=old[:NAMED_MOST],
        old_count=len(old),
        versions=list(counted.exclude(agent_version="").order_by("-nodes", "agent_version")),
    )


def _slices(slices: int, now: datetime) -> list[Slice]:
    lately = now - timedelta(seconds=2 * int(settings.POLL_INTERVAL_S))
    rows = polled_nodes().annotate(part=F("pk") % slices).order_by("part").values_list("part")
    counted = rows.annotate(
        nodes=Count("pk"),
        answered=Count("pk", filter=Q(answered_at__gte=lately)),
        silent=Count("pk", filter=Q(silent_since__isnull=False)),
        asked_at=Max("answered_at"),
    )
    return [Slice(*row) for row in counted]
