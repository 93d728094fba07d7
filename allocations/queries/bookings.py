"""What is promised over time as bookings: grants, what signed changes take from them, what stands beside the split."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db.models import BigIntegerField, Case, F, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce, Least

from allocations.capacity import Booking, Timeline
from allocations.models import Grant, GrantChange, GrantSize, Loan, Project, SplitException
from inventory.models import GpuModel

Key = tuple[int, int]
"""Pk of a GPU model, pk of a division."""

NOTHING = Timeline.constant(0)
EVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Promised:
    """By model and division: what counts against the share, the emergencies beside it, what raises the share."""

    inside: dict[Key, Timeline] = field(default_factory=dict)
    emergency: dict[Key, Timeline] = field(default_factory=dict)
    exceptions: dict[Key, Timeline] = field(default_factory=dict)


def promised_until(*, at: datetime) -> QuerySet[Grant]:
    """Grants that promise something at `at` or later, less those of loans: the lender's promise pays for them."""
    lent = Loan.objects.filter(grant__isnull=False).values("grant")
    return Grant.objects.filter(ends_at__gt=at).exclude(ends_at=F("starts_at")).exclude(pk__in=lent)


def promised(models: Collection[GpuModel], *, at: datetime) -> Promised:
    """Everything promised of these models from `at` on; one query.

    A smaller grant that is signed counts less from its instant on, before the clock has written it. Where a lender's
    own promise ends before its loan, what is lent goes on counting for the lender's division.
    """
    read = _Read(models, at)
    lines = _timelines(read.inside)
    for (model_id, project_id), (division_id, bookings) in read.lent.items():
        uncovered = (Timeline.of(0, bookings) - Timeline.of(0, read.own[model_id, project_id])).clamp(low=0)
        lines[model_id, division_id] = lines.get((model_id, division_id), NOTHING) + uncovered
    return Promised(lines, _timelines(read.emergency), _timelines(read.exceptions))


def _timelines(bookings: dict[Key, list[Booking]]) -> dict[Key, Timeline]:
    return {key: Timeline.of(0, each) for key, each in bookings.items()}


def pieces(promise: Booking, shrinks: Collection[tuple[datetime, int]]) -> list[Booking]:
    """A promise cut where it becomes smaller; `shrinks`: (from when, how many it then keeps), in any order."""
    bookings, left, starts_at, ends_at = [], promise.gpus, promise.starts_at, promise.ends_at
    for at, keeps in sorted(shrinks):
        at = max(at, starts_at) if ends_at is None else min(max(at, starts_at), ends_at)
        bookings.append(Booking(starts_at, at, left))
        starts_at, left = at, min(left, keeps)
    return [*bookings, Booking(starts_at, ends_at, left)]


def promised_over_time(grants: QuerySet[Grant]) -> dict[int, list[Booking]]:
    """Grant pk -> what it promised and promises, the past as it was: cut where it was made smaller; one query."""
    keys, found = grants.order_by().values("pk"), {}
    signed = GrantChange.objects.filter(
        kind=GrantChange.Kind.SHRINK, state=GrantChange.State.APPROVED, grant__in=keys
    ).order_by()
    sizes = GrantSize.objects.filter(grant__in=keys).order_by()
    cuts: dict[str, dict[int, list[tuple[datetime, int]]]] = {"shrink": defaultdict(list), "size": defaultdict(list)}
    rows = grants.order_by().values_list(Value("grant"), "pk", "starts_at", "ends_at", "gpus")
    for kind, pk, starts_at, ends_at, gpus in rows.union(
        signed.values_list(Value("shrink"), "grant_id", "takes_effect_at", "takes_effect_at", "gpus"),
        sizes.values_list(Value("size"), "grant_id", "until", "until", "gpus"),
        all=True,
    ):
        if kind == "grant":
            found[pk] = Booking(starts_at, ends_at, gpus)
        else:
            cuts[kind][pk].append((starts_at, gpus))
    return {
        pk: _with_past(pieces(booking, cuts["shrink"][pk]), sorted(cuts["size"][pk])) for pk, booking in found.items()
    }


def _with_past(parts: list[Booking], sizes: list[tuple[datetime, int]]) -> list[Booking]:
    """The parts of a grant, before each `until` as large as it was then; `sizes` come the soonest first."""
    past, begins, ends = [], parts[0].starts_at, parts[-1].ends_at
    for until, gpus in sizes:
        past.append(Booking(begins, min(until, ends) if ends else until, gpus))
        begins = max(begins, until)
    return [*past, *(Booking(max(part.starts_at, begins), part.ends_at, part.gpus) for part in parts)]


class _Read:
    """Grants, agreed loans, signed exceptions and smaller grants that are still to come, read in one query."""

    def __init__(self, models: Collection[GpuModel], at: datetime) -> None:
        self.inside: dict[Key, list[Booking]] = defaultdict(list)
        self.emergency: dict[Key, list[Booking]] = defaultdict(list)
        self.exceptions: dict[Key, list[Booking]] = defaultdict(list)
        self.lent: dict[Key, tuple[int, list[Booking]]] = {}
        self.own: dict[Key, list[Booking]] = defaultdict(list)
        shrinks: dict[int, list[tuple[datetime, int]]] = defaultdict(list)
        grants, beside = [], []
        for kind, pk, model_id, division_id, project_id, starts_at, ends_at, gpus in _rows(models, at):
            booking = Booking(starts_at, ends_at, gpus)
            if kind in ("grant", "emergency"):
                grants.append((kind, pk, (model_id, division_id), (model_id, project_id), booking))
            elif kind == "shrink":
                shrinks[pk].append((starts_at, gpus))
            elif kind == "loan":
                self.lent.setdefault((model_id, project_id), (division_id, []))[1].append(booking)
            else:
                beside.append((pk, (model_id, division_id), booking))
        for pk, of_division, booking in beside:  # signed for a pitch (else pk 0) it shrinks with the pitch's grant
            self.exceptions[of_division] += pieces(booking, shrinks[pk]) if pk in shrinks else [booking]
        for kind, pk, of_division, of_project, booking in grants:
            parts = pieces(booking, shrinks[pk]) if pk in shrinks else [booking]
            (self.inside if kind == "grant" else self.emergency)[of_division] += parts
            if of_project in self.lent:
                self.own[of_project] += parts


def _rows(models: Collection[GpuModel], at: datetime) -> QuerySet[Any, Any]:
    grants = promised_until(at=at).filter(model__in=models).order_by()
    loans = Loan.objects.filter(state=Loan.State.AGREED, ends_at__gt=at, model__in=models).order_by()
    signed = SplitException.objects.filter(state=SplitException.State.SIGNED, ends_at__gt=at, model__in=models)
    # One that came with a pitch is no more than its grant, and not there where the last signature was undone.
    signed = signed.filter(Q(pitch=None) | Q(pitch__grant__isnull=False))
    signed_until, signed_gpus = Least("ends_at", "pitch__grant__ends_at"), Least("gpus", "pitch__grant__gpus")
    of_grant = Coalesce("pitch__grant", Value(0), output_field=BigIntegerField())
    shrinks = GrantChange.objects.filter(
        kind=GrantChange.Kind.SHRINK, state=GrantChange.State.APPROVED, grant__ends_at__gt=at,
        grant__model__in=models, grant__gpus__gt=F("gpus"),
    )  # fmt: skip
    kind = Case(When(is_emergency=True, then=Value("emergency")), default=Value("grant"))
    time = ("starts_at", "ends_at", "gpus")
    return grants.values_list(kind, "pk", "model_id", "project__division_id", "project_id", *time).union(
        loans.values_list(Value("loan"), "pk", "model_id", "lender__division_id", "lender_id", *time),
        signed.order_by().values_list(
            Value("exception"), of_grant, "model_id", "division_id", Value(0), "starts_at", signed_until, signed_gpus
        ),
        shrinks.order_by().values_list(
            Value("shrink"), "grant_id", "grant__model_id", "grant__project__division_id", Value(0),
            "takes_effect_at", "takes_effect_at", "gpus",
        ),
        all=True,
    )  # fmt: skip


def lendable(lender: Project, model: GpuModel) -> Timeline:
    """What the lender's own promises hold of the model over time, less what is lent already.

    A signed smaller grant counts from its instant on; an emergency that nobody has ratified lends nothing.
    """
    own = promised_until(at=EVER).filter(project=lender, model=model, ended_at=None)
    own = own.exclude(is_emergency=True, ratified_at=None)
    loans = Loan.objects.filter(lender=lender, model=model, state=Loan.State.AGREED)
    held = [part for parts in promised_over_time(own).values() for part in parts]
    lent = [Booking(*row) for row in loans.order_by().values_list("starts_at", "ends_at", "gpus")]
    return Timeline.of(0, held) - Timeline.of(0, lent)
