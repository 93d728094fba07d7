"""Room over time, cost, who signs, when it fits, what it would displace, and how the alternatives stand."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal

from django.utils import timezone

from allocations import grants, queries
from allocations.asks import Alternative
from allocations.capacity import Booking, Kind, Shortage
from allocations.days import day_of, start_of
from allocations.models import Division, Person, Pitch, Project
from inventory.models import GpuModel
from inventory.queries import Coming
from portal.charts import CapacityChart, capacity_chart
from portal.outlook.displaced import Displaced, displaced_by
from portal.outlook.signers import Signer, Signers, signers_as_typed, signers_of_pitch

SHOWN_AFTER = timedelta(weeks=4)  # what comes right after the ask shows when somebody else could begin
SHOWN_AT_LEAST = timedelta(weeks=12)


@dataclass(frozen=True)
class AlternativeOutlook:
    """How another model would do: whether so many fit, from when else, and what they cost."""

    model: GpuModel
    gpus: int
    fits: bool
    earliest_at: datetime | None
    cost: Decimal | None


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
    signing: Signers
    chart: CapacityChart
    alternatives: Sequence[AlternativeOutlook] = ()
    displaced: Displaced = field(default_factory=Displaced)
    coming: Sequence[Coming] = ()  # GPUs of the model that count from their day on and are not there yet
    is_in_window: bool = False  # it does not fit on its first day, and does on a later one that would do

    @property
    def signers(self) -> list[Signer]:
        """Who signs."""
        return self.signing.signers

    @property
    def fits(self) -> bool:
        """Whether all of it fits at every instant."""
        return self.shortage is None

    @property
    def is_contradictory(self) -> bool:
        """Whether less than the minimum is asked for, as somebody may type it."""
        return self.min_gpus > self.gpus

    @property
    def free_after_gpus(self) -> int:
        """What would be left at the tightest instant."""
        return self.free_gpus - self.gpus

    @property
    def short_gpus(self) -> int:
        """How many are missing at the tightest instant; 0 where none is."""
        return max(0, -self.free_after_gpus)

    @property
    def too_many_gpus(self) -> int:
        """How many are promised above what there is at the tightest instant, without this ask."""
        return max(0, -self.free_gpus)

    @property
    def less_gpus(self) -> int | None:
        """Fewer than asked for that would do: what fits, else the minimum; None where only the signer can say."""
        for fewer in (self.free_gpus, self.min_gpus):
            if 0 < fewer < self.gpus:
                return fewer
        return None

    @property
    def first_day(self) -> date | None:
        """The first whole day of the site from which it would fit later than asked; None where nothing says one."""
        if self.fits or self.earliest_at is None:
            return None
        zone = grants.site_zone()
        day = day_of(self.earliest_at, zone)
        return day if start_of(day, zone) >= self.earliest_at else day + timedelta(days=1)


def outlook_as_typed(
    *,
    project: Project,
    person: Person,
    model: GpuModel,
    gpus: int,
    min_gpus: int,
    start_on: date,
    days: int,
    start_until: date | None = None,
    alternatives: Sequence[Alternative] = (),
    but: Pitch | None = None,
) -> Outlook:
    """What an ask that is being written would mean; `but` is its draft. A first day that has passed begins now.

    The queries do not grow with models, policies or waiting pitches.
    """
    now = timezone.now()
    division = project.division
    starts_at, ends_at = grants.promised_time(start_on, days, now=now)
    ask = Booking(starts_at, ends_at, gpus)
    room, *others = queries.capacities_of([model, *(each.model for each in alternatives)], at=now)
    shortage = room.shortage(division, ask)
    free = room.divisions[division.slug].free
    over = shortage is not None and shortage.kind == Kind.SHARE
    renews = over and queries.exception_renewed(division, model, starts_at, ends_at) is not None
    typed = _outlook(
        room, division, ask, shortage, now,
        days=days,
        min_gpus=min_gpus,
        signing=signers_as_typed(
            project=project, gpus=gpus, days=days, shortage=shortage, at=now, renews=renews, but=but
        ),
        alternatives=[
            _alternative(other, division, Booking(starts_at, ends_at, each.gpus), days)
            for other, each in zip(others, alternatives, strict=True)
        ],
        displaced=displaced_by(ask, division=division, model=model, free=free, person=person, but=but, at=now),
    )  # fmt: skip
    return replace(typed, is_in_window=_is_in_window(typed, start_until))


def outlook_of_pitch(pitch: Pitch) -> Outlook:
    """What lies on the table of a pitch that was submitted; who signs is frozen into it."""
    now = timezone.now()
    division, days = pitch.project.division, pitch.offered_days or pitch.days
    starts_at, ends_at = grants.promised_time(pitch.offered_start_on or pitch.start_on, days, now=now)
    ask = Booking(starts_at, ends_at, pitch.offered_gpus)
    room = queries.capacity_of(pitch.offered_model or pitch.model, at=now)
    return _outlook(
        room, division, ask, room.shortage(division, ask), now,
        days=days, min_gpus=pitch.min_gpus, signing=signers_of_pitch(pitch),
    )  # fmt: skip


def _outlook(
    room: queries.ModelCapacity,
    division: Division,
    ask: Booking,
    shortage: Shortage | None,
    now: datetime,
    *,
    days: int,
    min_gpus: int,
    signing: Signers,
    alternatives: Sequence[AlternativeOutlook] = (),
    displaced: Displaced | None = None,
) -> Outlook:
    own = room.divisions[division.slug]
    starts_at, ends_at = ask.starts_at, ask.ends_at
    assert ends_at is not None, "a promise has an end"
    return Outlook(
        model=room.model,
        division=division,
        gpus=ask.gpus,
        min_gpus=min_gpus,
        starts_at=starts_at,
        ends_at=ends_at,
        share_gpus=own.share.at(starts_at),
        free_gpus=own.free.minimum(starts_at, ends_at),
        shortage=shortage,
        earliest_at=room.earliest_start(division, ask) if shortage else starts_at,
        gpu_hours=queries.gpu_hours_of(ask.gpus, days),
        cost=_cost(room.model, ask.gpus, days),
        signing=signing,
        alternatives=alternatives,
        displaced=displaced or Displaced(),
        coming=room.coming,
        chart=capacity_chart(
            own.free,
            gpus=ask.gpus,
            starts_at=starts_at,
            ends_at=ends_at,
            shown_from=now,
            shown_until=max(ends_at + SHOWN_AFTER, now + SHOWN_AT_LEAST),
        ),
    )


def _is_in_window(typed: Outlook, start_until: date | None) -> bool:
    if typed.fits or typed.earliest_at is None or start_until is None:
        return False
    return typed.earliest_at <= start_of(start_until, grants.site_zone())


def _alternative(room: queries.ModelCapacity, division: Division, ask: Booking, days: int) -> AlternativeOutlook:
    fits = room.shortage(division, ask) is None
    earliest_at = ask.starts_at if fits else room.earliest_start(division, ask)
    return AlternativeOutlook(room.model, ask.gpus, fits, earliest_at, _cost(room.model, ask.gpus, days))


def _cost(model: GpuModel, gpus: int, days: int) -> Decimal | None:
    price = model.price_per_gpu_hour
    return None if price is None else price * queries.gpu_hours_of(gpus, days)
