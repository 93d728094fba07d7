"""What there is to give: one division's budget of a GPU model, as stretches in which nothing changes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from allocations import queries
from allocations.models import Division
from inventory.models import GpuModel
from inventory.queries import Coming

WEEKS = 26  # half a year: beyond it a lab's plans say little
WEEK = timedelta(weeks=1)
Span = tuple[datetime, datetime]  # half-open


@dataclass(frozen=True)
class Budget:
    """What there is in each stretch from `edges[i]` to the next: `room` is left beside what is promised.

    `coming` counts in it from its day on and is not there yet.
    """

    edges: list[datetime]
    room: list[int]
    promised: list[int]
    share: list[int]
    coming: Sequence[Coming] = ()


def budgets_of(
    division: Division,
    models: Collection[GpuModel],
    times: Mapping[int, Span],
    wanted: Mapping[int, GpuModel],
    now: datetime,
) -> dict[int, Budget]:
    """GPU model pk -> what there is of it, with an edge wherever a pitch that wants it begins or ends.

    `times` and `wanted`: pitch pk -> when, of which model.
    """
    return {
        capacity.model.pk: _budget(
            capacity.divisions[division.slug],
            [span for pitch, span in times.items() if wanted[pitch] == capacity.model],
            now,
            capacity.coming,
        )
        for capacity in queries.capacities_of(models, at=now)
    }


def _budget(own: queries.DivisionCapacity, spans: Collection[Span], now: datetime, coming: Sequence[Coming]) -> Budget:
    end = max([now + WEEKS * WEEK, *(ends for _, ends in spans)])
    edges = {now, now + WEEKS * WEEK} | {at for span in spans for at in span}
    for line in (own.free, own.promised, own.share):
        edges |= {at for at, _ in line.changes}
    ordered = sorted(at for at in edges if now <= at < end)
    return Budget(
        edges=ordered,
        room=[own.free.at(at) for at in ordered],
        promised=[own.promised.at(at) for at in ordered],
        share=[own.share.at(at) for at in ordered],
        coming=[each for each in coming if each.starts_at < end],
    )
