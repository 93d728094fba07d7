"""What there is to give: one division's budget of a GPU model, as stretches in which nothing changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from allocations import queries
from allocations.models import Division
from inventory.models import GpuModel

WEEKS = 26  # half a year: beyond it a lab's plans say little
WEEK = timedelta(weeks=1)


@dataclass(frozen=True)
class Budget:
    """What there is in each stretch from `edges[i]` to the next: `room` is left beside what is promised."""

    edges: list[datetime]
    room: list[int]
    promised: list[int]
    share: list[int]


def budget_of(
    division: Division, model: GpuModel, times: Mapping[int, tuple[datetime, datetime]], now: datetime
) -> Budget:
    capacity = queries.capacity_of(model, at=now)
    own = capacity.divisions[division.slug]
    end = max([now + WEEKS * WEEK, *(ends for _, ends in times.values())])
    edges = {now, now + WEEKS * WEEK} | {at for pair in times.values() for at in pair}
    for line in (own.free, own.promised, own.share):
        edges |= {at for at, _ in line.changes}
    ordered = sorted(at for at in edges if now <= at < end)
    return Budget(
        edges=ordered,
        room=[own.free.at(at) for at in ordered],
        promised=[own.promised.at(at) for at in ordered],
        share=[own.share.at(at) for at in ordered],
    )
