"""Every GPU with what it does, who holds it and who is meant to: rows of the fleet map, its table, the node page."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Case, CharField, Count, F, FilteredRelation, Q, QuerySet, TextChoices, Value, When
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from allocations.models import Move
from inventory import queries as facts
from inventory.models import Activity, Gpu, Node

State = Activity.State


class Doing(TextChoices):
    """What a GPU does, the first that fits; in the order in which ops look at them.

    Whose it is goes by the newest reading; how it is used by the last judgement, or by that reading where none stands.
    """

    LOST = "lost", _("lost")
    CORDONED = "cordoned", _("cordoned")
    UNKNOWN = "unknown", _("unknown")
    DRAINING = "draining", _("draining")
    GHOST = "ghost", _("in use by nobody known")  # without a holder, or memory and kernels that no process explains
    HUNG = "hung", _("hung")  # busy at idle power
    ASSIGNED = "assigned", _("assigned, not yet held")
    FREE = "free", _("free")
    ACTIVE = "active", _("active")
    LOW = "low", _("hardly used")
    IDLE = "idle", _("held idle")


class Tile(NamedTuple):
    """One GPU on the map. `holder` None is unknown, "" nobody; `assigned` "" nobody; `read_at` None never."""

    pk: int
    node: str
    island: str
    site: str
    model: str
    doing: str
    holder: str | None
    assigned: str
    util_pct: float | None
    mem_used_mib: int | None
    power_w: float | None
    read_at: datetime | None


def fleet_units(*, now: datetime | None = None) -> QuerySet[Gpu]:
    """All GPUs that can be assigned, with `doing`, `holder`, `assigned_to` (slug, "" nobody) and `moving` (a state)."""
    return _judged(facts.units(), now or timezone.now())


def node_units(node: Node, *, now: datetime | None = None) -> QuerySet[Gpu]:
    """The GPUs of one node by slot, retired ones left out, judged like those of the whole fleet."""
    rows = Gpu.objects.filter(node=node, retired_at=None).select_related("model", "reading", "parent")
    return _judged(rows, now or timezone.now()).order_by("pci_bus_id", "kind", "pk")


def tiles(*, now: datetime | None = None) -> list[Tile]:
    """Every unit in the order of the map (site, island, node, slot), by one query."""
    rows = fleet_units(now=now).order_by("node__site", "node__island", "model__name", "node__name", "pci_bus_id", "pk")
    fields = (
        "pk", "node__name", "node__island", "node__site", "model__name", "doing", "holder", "assigned_to",
        "reading__util_pct", "reading__mem_used_mib", "reading__power_w", "reading__requested_at",
    )  # fmt: skip
    return [Tile(*row) for row in rows.values_list(*fields)]


def doing_counts(*, now: datetime | None = None) -> dict[str, int]:
    """What GPUs do -> how many, in the order of `Doing`; what no GPU does is left out."""
    rows: QuerySet[Any] = fleet_units(now=now)
    counts = dict(rows.order_by().values_list("doing").annotate(gpus=Count("pk")))
    return {kind: counts[kind] for kind in Doing.values if kind in counts}


def narrowed(rows: QuerySet[Gpu], filters: Mapping[str, str]) -> QuerySet[Gpu]:
    """`rows` of `fleet_units` by doing, model, island, node and project (holds it or shall); "" filters nothing."""
    project = filters.get("project", "")
    narrow = (
        ("doing", Q(doing=filters.get("doing"))),
        ("model", Q(model__name=filters.get("model"))),
        ("island", Q(node__island=filters.get("island"))),
        ("node", Q(node__name=filters.get("node"))),
        ("project", Q(holder=project) | Q(assigned_to=project)),
    )
    for name, condition in narrow:
        if filters.get(name):
            rows = rows.filter(condition)
    return rows


def _judged(rows: QuerySet[Gpu], now: datetime) -> QuerySet[Gpu]:
    return rows.annotate(
        assignment=FilteredRelation("assignments", condition=Q(assignments__during__endswith__isnull=True)),
        cordon=FilteredRelation("node__cordons", condition=Q(node__cordons__during__contains=now)),
        open_move=FilteredRelation("moves", condition=Q(moves__state__in=Move.OPEN)),
    ).annotate(
        doing=_doing(now),
        holder=F("reading__holder"),
        assigned_to=Coalesce("assignment__project__slug", Value("")),
        moving=F("open_move__state"),
    )


def _doing(now: datetime) -> Case:
    unread = Q(reading=None) | Q(reading__requested_at__lt=facts.fresh_after(now)) | Q(reading__holder=None)
    on_its_way = Q(reading__draining=True) | Q(open_move__state__in=[Move.State.DRAINING, Move.State.SWITCHING])
    return Case(
        When(lost_at__isnull=False, then=Value(Doing.LOST)),
        When(cordon__isnull=False, then=Value(Doing.CORDONED)),
        When(unread, then=Value(Doing.UNKNOWN)),
        When(on_its_way & ~Q(reading__holder=""), then=Value(Doing.DRAINING)),
        When(reading__holder="", reading__running__gt=0, then=Value(Doing.GHOST)),
        When(reading__holder="", assignment__isnull=False, then=Value(Doing.ASSIGNED)),
        When(reading__holder="", then=Value(Doing.FREE)),
        When(facts.judged_as(State.GHOST, now=now), then=Value(Doing.GHOST)),
        When(facts.judged_as(State.HUNG, now=now), then=Value(Doing.HUNG)),
        When(facts.judged_as(State.LOW, now=now), then=Value(Doing.LOW)),
        When(facts.is_used(now=now), then=Value(Doing.ACTIVE)),
        When(facts.judged_as(State.EMPTY, State.HELD_IDLE, now=now), then=Value(Doing.IDLE)),
        When(reading__util_pct=None, reading__engine_pct=None, then=Value(Doing.UNKNOWN)),
        default=Value(Doing.IDLE),
        output_field=CharField(),
    )
