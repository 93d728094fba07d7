"""What the divisions have of all GPU models together, counted by the weights that were signed with a split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Count, prefetch_related_objects
from django.utils import timezone

from allocations.capacity import Weights, clear_from, unit_of, weighted, worst_of
from allocations.models import Division, Holding, Split
from allocations.queries.look import once_a_look
from allocations.queries.promises import DivisionCapacity, ModelCapacity, effective_split
from allocations.queries.standing import STANDS
from inventory.models import GpuModel


@dataclass(frozen=True)
class DivisionTotal:
    """A division's numbers of all models together.

    `over_now`: what stands above the share, model by model; `over`: as much at the worst from then on;
    `clear_at`: from when on none of that does, if nobody ends anything earlier; None where promises never allow it.
    `before` is the share without the split that is looked at; None where no other one is compared.
    """

    division: Division
    before: Decimal | None
    share: Decimal
    promised: Decimal
    over_now: Decimal
    over: Decimal
    clear_at: datetime | None
    held: Decimal | None = None


@dataclass(frozen=True)
class Totals:
    """Every division's total, and how it was counted: in GPUs of `unit`; `without_weight` names models that count 1."""

    unit: str
    weights: Weights
    without_weight: Sequence[str]
    healthy: Decimal
    reserve: Decimal
    rows: Sequence[DivisionTotal]

    @property
    def is_of_several(self) -> bool:
        """Whether it sums over more than one model."""
        return len(self.without_weight) + len(self.weights) > 1


def weights_of(split: Split | None) -> dict[str, Decimal]:
    """GPU model name -> what was signed with the split, of the models that were given a weight."""
    if split is None:
        return {}
    prefetch_related_objects([split], "weights__model")
    return {row.model.name: row.weight for row in split.weights.all()}


@dataclass(frozen=True)
class Measure:
    """How totals over models are counted: by these weights, in GPUs of `unit`."""

    weights: Weights
    unit: str


@once_a_look
def measure_in_force() -> Measure:
    """By the split that is in force now."""
    weights = weights_of(effective_split(timezone.now()))
    return Measure(weights, unit_of(GpuModel.objects.order_by("name").values_list("name", flat=True), weights))


def totals_of(
    capacities: Sequence[ModelCapacity],
    weights: Weights,
    *,
    at: datetime,
    until: datetime | None = None,
    before: Sequence[ModelCapacity] | None = None,
    held: Mapping[tuple[str, str], int] | None = None,
) -> Totals:
    """The totals at that instant, what is over at its worst until `until`; `held`: (division slug, model name) -> GPUs.

    Shares are the signed ones. `before`: the same models under the split that is there.
    """
    models = [room.model.name for room in capacities]
    healthy = {room.model.name: room.healthy.at(at) for room in capacities}
    old = {room.model.name: room for room in before or ()}
    rows = []
    for slug, one in capacities[0].divisions.items() if capacities else ():
        own = {room.model.name: room.divisions[slug] for room in capacities}
        rows.append(
            DivisionTotal(
                division=one.division,
                before=weighted({m: _share(room.divisions[slug], at) for m, room in old.items()}, weights)
                if before
                else None,
                share=weighted({model: _share(each, at) for model, each in own.items()}, weights),
                promised=weighted({model: each.promised.at(at) for model, each in own.items()}, weights),
                over_now=weighted({model: each.debt.at(at) for model, each in own.items()}, weights),
                over=worst_of({model: each.debt for model, each in own.items()}, weights, at, until),
                clear_at=_clear_at(own, at),
                held=None if held is None else weighted({m: held.get((slug, m), 0) for m in models}, weights),
            )
        )
    whole = weighted(healthy, weights)
    return Totals(
        unit=unit_of(models, weights),
        weights={model: weights[model] for model in models if model in weights},
        without_weight=[model for model in models if model not in weights],
        healthy=whole,
        reserve=whole - sum((row.share for row in rows), Decimal(0)),
        rows=rows,
    )


def held_by_division() -> dict[tuple[str, str], int]:
    """(division slug, GPU model name) -> GPUs proven in the hands of its projects; one query."""
    rows = Holding.objects.filter(STANDS).order_by().values_list("project__division__slug", "gpu__model__name")
    return {(slug, model): gpus for slug, model, gpus in rows.annotate(gpus=Count("pk"))}


def _share(own: DivisionCapacity, at: datetime) -> int:
    return own.split_share.at(at)


def _clear_at(own: Mapping[str, DivisionCapacity], at: datetime) -> datetime | None:
    days = [clear_from(each.debt, at) for each in own.values()]
    return None if None in days else max(day for day in days if day)
