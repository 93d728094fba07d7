"""What is promised over time as bookings: grants, what signed changes take from them, what stands beside the split."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import F, QuerySet, Value

from allocations.capacity import Booking, Timeline
from allocations.models import Grant, GrantChange, Loan, SplitException
from inventory.models import GpuModel

Key = tuple[int, int]
"""Pk of a GPU model, pk of a division."""

NOTHING = Timeline.constant(0)


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
    """Everything promised of these models from `at` on; two queries.

    A smaller grant that is signed counts less from its instant on, before the clock has written it. Where a lender's
    own promise ends before its loan, what is lent goes on counting for the lender's division.
    """
    beside = _Beside(models, at)
    inside: dict[Key, list[Booking]] = defaultdict(list)
    emergency: dict[Key, list[Booking]] = defaultdict(list)
    own: dict[Key, list[Booking]] = defaultdict(list)
    rows = promised_until(at=at).filter(model__in=models).order_by()
    columns = ("pk", "model_id", "project__division_id", "project_id", "starts_at", "ends_at", "gpus", "is_emergency")
    for pk, model_id, division_id, project_id, starts_at, ends_at, gpus, is_emergency in rows.values_list(*columns):
        bookings = pieces(starts_at, ends_at, gpus, beside.shrinks.get(pk, []))
        (emergency if is_emergency else inside)[model_id, division_id] += bookings
        if (model_id, project_id) in beside.lent:
            own[model_id, project_id] += bookings
    lines = {key: Timeline.of(0, bookings) for key, bookings in inside.items()}
    for (model_id, project_id), (division_id, bookings) in beside.lent.items():
        uncovered = (Timeline.of(0, bookings) - Timeline.of(0, own[model_id, project_id])).clamp(low=0)
        lines[model_id, division_id] = lines.get((model_id, division_id), NOTHING) + uncovered
    return Promised(
        lines,
        {key: Timeline.of(0, bookings) for key, bookings in emergency.items()},
        {key: Timeline.of(0, bookings) for key, bookings in beside.exceptions.items()},
    )


def pieces(
    starts_at: datetime, ends_at: datetime, gpus: int, shrinks: Collection[tuple[datetime, int]]
) -> list[Booking]:
    """A promise cut where it becomes smaller; `shrinks`: (from when, how many it then keeps), in any order."""
    bookings, left = [], gpus
    for at, keeps in sorted(shrinks):
        at = min(max(at, starts_at), ends_at)
        bookings.append(Booking(starts_at, at, left))
        starts_at, left = at, min(left, keeps)
    return [*bookings, Booking(starts_at, ends_at, left)]


class _Beside:
    """Signed exceptions, agreed loans and smaller grants that are still to come, read in one query."""

    def __init__(self, models: Collection[GpuModel], at: datetime) -> None:
        self.shrinks: dict[int, list[tuple[datetime, int]]] = defaultdict(list)
        self.lent: dict[Key, tuple[int, list[Booking]]] = {}
        self.exceptions: dict[Key, list[Booking]] = defaultdict(list)
        for kind, model_id, whose, division_id, starts_at, ends_at, gpus in _beside_rows(models, at):
            if kind == "shrink":
                self.shrinks[whose].append((starts_at, gpus))
            elif kind == "loan":
                self.lent.setdefault((model_id, whose), (division_id, []))[1].append(Booking(starts_at, ends_at, gpus))
            else:
                self.exceptions[model_id, division_id].append(Booking(starts_at, ends_at, gpus))


def _beside_rows(models: Collection[GpuModel], at: datetime) -> QuerySet:
    signed = SplitException.objects.filter(state=SplitException.State.SIGNED, ends_at__gt=at, model__in=models)
    agreed = Loan.objects.filter(state=Loan.State.AGREED, ends_at__gt=at, model__in=models)
    shrinks = GrantChange.objects.filter(
        kind=GrantChange.Kind.SHRINK, state=GrantChange.State.APPROVED, grant__ends_at__gt=at,
        grant__model__in=models, grant__gpus__gt=F("gpus"),
    )  # fmt: skip
    return (
        signed.order_by()
        .values_list(Value("exception"), "model_id", "pk", "division_id", "starts_at", "ends_at", "gpus")
        .union(
            agreed.order_by().values_list(
                Value("loan"), "model_id", "lender_id", "lender__division_id", "starts_at", "ends_at", "gpus"
            ),
            shrinks.order_by().values_list(
                Value("shrink"), "grant__model_id", "grant_id", "grant__project__division_id", "takes_effect_at",
                "takes_effect_at", "gpus",
            ),
            all=True,
        )
    )  # fmt: skip
