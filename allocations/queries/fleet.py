"""Every GPU with what it does, who holds it and who is meant to: rows of the fleet map, its table, the node page."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import (
    Case,
    CharField,
    Count,
    DateTimeField,
    F,
    FilteredRelation,
    Func,
    Q,
    QuerySet,
    TextChoices,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from allocations.models import Move, Project
from inventory import queries as facts
from inventory.models import Activity, Gpu, Node

NOBODY, UNKNOWN = "-", "?"  # in a filter, where the name of a project or a division, or a step would stand
USE_FROM_PCT = (0, 5, 25, 50, 75)  # where the steps of use begin
AGE_FROM_S = (0, 60, 300, 3600)  # where the steps of a reading's age begin
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


class RangeBegin(Func):
    """The instant at which a range of time begins."""

    function = "lower"
    output_field = DateTimeField()


def fleet_units(*, now: datetime | None = None) -> QuerySet[Gpu]:
    """All GPUs that can be assigned, with `doing` and `since`, `holder` (None unknown, "" nobody), `assigned_to`
    (slug, "" nobody) and `moving` (a state)."""
    return _judged(facts.units(), now or timezone.now())


def node_units(node: Node, *, now: datetime | None = None) -> QuerySet[Gpu]:
    """The GPUs of one node by slot, retired ones left out, judged like those of the whole fleet."""
    rows = Gpu.objects.filter(node=node, retired_at=None).select_related("model", "reading", "activity", "parent")
    return _judged(rows, now or timezone.now()).order_by("pci_bus_id", "kind", "pk")


def one_unit(pk: int, *, now: datetime | None = None) -> QuerySet[Gpu]:
    """The GPU of that key, a retired one too, judged like those of the whole fleet."""
    rows = Gpu.objects.filter(pk=pk).select_related("node", "model", "reading", "activity", "parent")
    return _judged(rows, now or timezone.now())


def doing_counts(rows: QuerySet[Gpu] | None = None) -> dict[str, int]:
    """What the GPUs of `rows` (all) do -> how many, in the order of `Doing`; what no GPU does is left out."""
    found: QuerySet[Any] = fleet_units() if rows is None else rows
    counts = dict(found.order_by().values_list("doing").annotate(gpus=Count("pk")))
    return {kind: counts[kind] for kind in Doing.values if kind in counts}


def narrowed(rows: QuerySet[Gpu], filters: Mapping[str, str], *, now: datetime | None = None) -> QuerySet[Gpu]:
    """`rows` of `fleet_units` by what `filters` ask for; "" filters nothing.

    `doing`, `project` (holds it or shall), `division`, `use` and `age` (steps) may name several with commas between;
    `model`, `site`, `island` and `node` name one; `q` is a part of a name of any of these.
    """
    conditions = (
        ("model", lambda name: Q(model__name=name)),
        ("site", lambda name: Q(node__site=name)),
        ("island", lambda name: Q(node__island=name)),
        ("node", lambda name: Q(node__name=name)),
        ("doing", lambda names: Q(doing__in=names.split(","))),
        ("project", _of_projects),
        ("division", _of_divisions),
        ("use", lambda steps: _of_use(steps, now or timezone.now())),
        ("age", lambda steps: _of_age(steps, now or timezone.now())),
        ("q", _named),
    )
    for name, condition in conditions:
        if filters.get(name):
            rows = rows.filter(condition(filters[name]))
    return rows


def _of_projects(slugs: str) -> Q:
    names = slugs.split(",")
    found = Q(holder__in=names) | Q(assigned_to__in=names)
    return found | Q(Q(holder=None) | Q(holder=""), assigned_to="") if NOBODY in names else found


def _of_divisions(slugs: str) -> Q:
    names = slugs.split(",")
    projects = Project.objects.filter(division__slug__in=names).values("slug")
    whose = Q(holder__in=projects) | Q(Q(holder=None) | Q(holder=""), assigned_to__in=projects)
    known = Project.objects.values("slug")
    nobodys = ~Q(Q(holder__isnull=False) & Q(holder__in=known)) & ~Q(assigned_to__in=known)
    return whose | nobodys if NOBODY in names else whose


def _of_use(steps: str, now: datetime) -> Q:
    """A stale reading says nothing about use."""
    stale = Q(reading__util_pct=None) | Q(reading__requested_at__lt=facts.fresh_after(now))
    known = (
        Q(reading__util_pct__gte=low) & (Q() if high is None else Q(reading__util_pct__lt=high)) & ~stale
        for low, high in _steps(steps, USE_FROM_PCT)
    )
    return reduce(or_, known, stale if UNKNOWN in steps.split(",") else Q(pk=None))


def _of_age(steps: str, now: datetime) -> Q:
    read = (
        (Q(reading__requested_at__lte=now - timedelta(seconds=low)) if low else Q(reading__isnull=False))
        & (Q() if high is None else Q(reading__requested_at__gt=now - timedelta(seconds=high)))
        for low, high in _steps(steps, AGE_FROM_S)
    )
    return reduce(or_, read, Q(reading=None) if UNKNOWN in steps.split(",") else Q(pk=None))


def _steps(named: str, begins: tuple[int, ...]) -> list[tuple[int, int | None]]:
    """The steps that are named by where they begin, with where they end."""
    pairs = zip(begins, (*begins[1:], None), strict=True)
    return [(low, high) for low, high in pairs if str(low) in named.split(",")]


def _named(text: str) -> Q:
    projects = Project.objects.filter(name__icontains=text).values("slug")
    fields = ("node__name", "node__site", "node__island", "model__name", "holder", "assigned_to")
    found = reduce(or_, (Q(**{f"{field}__icontains": text}) for field in fields))
    return found | Q(holder__in=projects) | Q(assigned_to__in=projects)


def _judged(rows: QuerySet[Gpu], now: datetime) -> QuerySet[Gpu]:
    return rows.annotate(
        assignment=FilteredRelation("assignments", condition=Q(assignments__during__endswith__isnull=True)),
        cordon=FilteredRelation("node__cordons", condition=Q(node__cordons__during__contains=now)),
        open_move=FilteredRelation("moves", condition=Q(moves__state__in=Move.OPEN)),
    ).annotate(
        doing=_doing(now),
        since=_since(now),
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


def _since(now: datetime) -> Case:
    """When what it does began, as far as that is known."""
    unread = Q(reading=None) | Q(reading__requested_at__lt=facts.fresh_after(now)) | Q(reading__holder=None)
    # A verdict speaks of the hands in which it was given.
    told = (state for state in State if state != State.UNKNOWN)
    judged = facts.judged_as(*told, now=now) & Q(activity__holder=F("reading__holder"))
    return Case(
        When(lost_at__isnull=False, then=F("lost_at")),
        When(cordon__isnull=False, then=RangeBegin("cordon__during")),
        When(unread, then=F("reading__requested_at")),
        When(open_move__draining_at__isnull=False, then=F("open_move__draining_at")),
        When(Q(reading__holder="") & Q(assignment__isnull=False), then=RangeBegin("assignment__during")),
        When(judged, then=F("activity__since")),
        default=None,
        output_field=DateTimeField(),
    )
