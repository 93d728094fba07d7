"""What an ask would mean, while it is typed and while it is signed: room over time, cost, who signs, when it fits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from django.utils import timezone

from allocations import grants, queries
from allocations.capacity import Booking, Shortage
from allocations.models import Division, Person, Pitch, Role
from inventory.models import GpuModel
from portal.charts import CapacityChart, capacity_chart

HOURS_A_DAY = 24
SHOWN_AFTER = timedelta(weeks=4)  # what comes right after the ask shows when somebody else could begin
SHOWN_AT_LEAST = timedelta(weeks=12)


@dataclass(frozen=True)
class Outlook:
    """The consequences of an ask. `shortage` and `earliest_at` are for `gpus`; free: the least over its time."""

    model: GpuModel
    division: Division
    gpus: int
    min_gpus: int
    starts_at: datetime
    ends_at: datetime
    share_gpus: int
    free_gpus: int
    shortage: Shortage | None
    earliest_at: datetime | None
    gpu_hours: int
    cost: Decimal | None
    roles: Sequence[Role]
    chart: CapacityChart

    @property
    def signers(self) -> list[tuple[Role, list[Person]]]:
        """Who holds each of the roles that sign; asked for when it is shown."""
        return list(queries.holders_of(self.roles).items())

    @property
    def fits(self) -> bool:
        """Whether all of it fits at every instant."""
        return self.shortage is None

    @property
    def minimum_fits(self) -> bool:
        """Whether at least the minimum fits."""
        return self.free_gpus >= self.min_gpus

    @property
    def free_after_gpus(self) -> int:
        """What would be left at the tightest instant."""
        return self.free_gpus - self.gpus


def outlook(
    *, division: Division, model: GpuModel, gpus: int, min_gpus: int, start_on: date, days: int, roles: list[Role]
) -> Outlook:
    """What `gpus` of the model from the first day on would mean; a first day that has passed begins now."""
    now = timezone.now()
    starts_at, ends_at = grants.promised_time(start_on, days, now=now)
    ask = Booking(starts_at, ends_at, gpus)
    room = queries.capacity_of(model, at=now)
    own = room.divisions[division.slug]
    hours = gpus * days * HOURS_A_DAY
    price = model.price_per_gpu_hour
    return Outlook(
        model=model,
        division=division,
        gpus=gpus,
        min_gpus=min_gpus,
        starts_at=starts_at,
        ends_at=ends_at,
        share_gpus=own.share.at(starts_at),
        free_gpus=own.free.minimum(starts_at, ends_at),
        shortage=room.shortage(division, ask),
        earliest_at=room.earliest_start(division, ask),
        gpu_hours=hours,
        cost=None if price is None else price * hours,
        roles=roles,
        chart=capacity_chart(
            own.free,
            gpus=gpus,
            starts_at=starts_at,
            ends_at=ends_at,
            shown_from=now,
            shown_until=max(ends_at + SHOWN_AFTER, now + SHOWN_AT_LEAST),
        ),
    )


def outlook_of_pitch(pitch: Pitch) -> Outlook:
    """What lies on the table of a pitch; who signs is frozen into it once it is submitted."""
    is_draft = pitch.state == Pitch.State.DRAFT
    roles = (
        queries.roles_for_pitch(division=pitch.project.division, gpus=pitch.ideal_gpus, days=pitch.days)
        if is_draft
        else queries.needed_by(pitch)
    )
    return outlook(
        division=pitch.project.division,
        model=pitch.model,
        gpus=pitch.offered_gpus,
        min_gpus=pitch.min_gpus,
        start_on=pitch.start_on,
        days=pitch.days,
        roles=roles,
    )
