"""How a node stands with its agent, and how far the agents of each island go."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Max, Q, QuerySet
from django.utils import timezone

from inventory.models import Event, Finding, Intrusion, JoinCode, Node

# What enforcement would have ended is shown for so long: a week holds each day's habits once.
SHADOW_DAYS = 7


@dataclass(frozen=True, slots=True)
class Enrolment:
    """`code`: an open join code; `last`: the event by which the node joined or was revoked, None for neither."""

    joined: bool
    code: JoinCode | None
    last: Event | None


def enrolment_of(node: Node) -> Enrolment:
    """How the node stands; two queries."""
    code = JoinCode.objects.filter(node=node, used_at=None, revoked_at=None, expires_at__gt=timezone.now()).first()
    events = Event.objects.filter(subject_kind="node", subject_id=str(node.pk))
    last = events.filter(verb__in=["node.joined", "node.revoked"]).order_by("-pk").first()
    return Enrolment(bool(node.token), code, last)


@dataclass(frozen=True, slots=True)
class IslandModes:
    """An island's nodes that have an agent, by the mode wanted and how many say so. `users`, `gpus`: of intrusions."""

    island: str
    nodes: int
    observe: int
    shadow: int
    enforce: int
    otherwise: int
    silent: int
    users: int
    gpus: int


def island_modes() -> list[IslandModes]:
    """One for each island with agents, by name; two queries. `otherwise`: nodes that say another mode than wanted."""
    counted = with_agents().values("island").order_by("island")
    rows = counted.annotate(
        nodes=Count("pk"),
        observe=Count("pk", filter=Q(mode=Node.Mode.OBSERVE)),
        shadow=Count("pk", filter=Q(mode=Node.Mode.SHADOW)),
        enforce=Count("pk", filter=Q(mode=Node.Mode.ENFORCE)),
        otherwise=Count("pk", filter=~Q(said_mode="") & ~Q(said_mode=F("mode"))),
        silent=Count("pk", filter=Q(silent_since__isnull=False)),
    )
    recent = _recent(timezone.now()).order_by().values("gpu__node__island")
    used = {
        island: {"users": users, "gpus": gpus}
        for island, users, gpus in recent.annotate(
            users=Count("user", distinct=True), gpus=Count("gpu", distinct=True)
        ).values_list("gpu__node__island", "users", "gpus")
    }
    return [IslandModes(**row, **used.get(row["island"], {"users": 0, "gpus": 0})) for row in rows]


def with_agents() -> QuerySet[Node]:
    """Nodes in use whose agent has joined."""
    return Node.objects.filter(retired_at=None, driver=Node.Driver.AGENT).exclude(address="")


def would_have_ended(island: str) -> QuerySet[Intrusion]:
    """Who used a GPU of the island without a right in the last days, one row a user, GPU and holder; newest first."""
    recent = _recent(timezone.now()).filter(gpu__node__island=island)
    return recent.select_related("gpu__node").order_by("-last_at", "-pk")


def missing_for_enforcement(island: str) -> list[dict[str, Any]]:
    """What is wrong with the island's nodes themselves now: code, evidence of one, how many nodes; one query."""
    findings = Finding.objects.filter(node__in=with_agents().filter(island=island), gpu=None, ended_at=None)
    counted = findings.order_by().values("code").annotate(nodes=Count("node", distinct=True), evidence=Max("evidence"))
    return [dict(row) for row in counted.order_by("-nodes", "code")]


def _recent(now: datetime) -> QuerySet[Intrusion]:
    return Intrusion.objects.filter(last_at__gt=now - timedelta(days=SHADOW_DAYS))
