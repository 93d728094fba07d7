"""Which waiting pitches an ask would push out, as far as the person may know them by name."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils import timezone

from allocations import capacity, grants, queries
from allocations.capacity import Booking, Timeline
from allocations.models import Division, Person, Pitch
from inventory.models import GpuModel

MOST_NAMED = 5
TERMS = ("start_on", "offered_start_on", "days", "offered_days", "offered_gpus")


@dataclass(frozen=True)
class Displaced:
    """Pitches that fit now and would not beside the ask; `others` more that are not named here."""

    named: list[Pitch] = field(default_factory=list)
    others: int = 0


def displaced_by(
    ask: Booking,
    *,
    division: Division,
    model: GpuModel,
    free: Timeline,
    person: Person,
    but: Pitch | None,
    at: datetime,
) -> Displaced:
    """Those of the division's waiting pitches for the model; two queries at most."""
    waiting = Pitch.objects.filter(
        Q(offered_model=model) | Q(offered_model=None, model=model),
        state=Pitch.State.SUBMITTED,
        project__division=division,
    )
    if but is not None:
        waiting = waiting.exclude(pk=but.pk)
    # As plain values: a thousand whole pitches cost more than all else that the panel asks.
    rows = waiting.order_by("pk").values_list("pk", *TERMS, named=True)
    found = capacity.displaced(ask, {str(row.pk): _booking(row, at) for row in rows}, free=free)
    if not found:
        return Displaced()
    seen = list(queries.pitches_visible_to(person).filter(pk__in=found).order_by("pk")[:MOST_NAMED])
    return Displaced(seen, len(found) - len(seen))


def displaced_by_pitch(pitch: Pitch, *, person: Person) -> Displaced:
    """What approving the terms on the table of a waiting pitch would push out."""
    now, model, division = timezone.now(), pitch.terms.model, pitch.project.division
    free = queries.capacity_of(model, at=now).divisions[division.slug].free
    return displaced_by(
        _booking(pitch, now), division=division, model=model, free=free, person=person, but=pitch, at=now
    )


def _booking(row: Any, at: datetime) -> Booking:
    """What a pitch, or a row with its `TERMS`, asks for."""
    starts_at, ends_at = grants.promised_time(
        row.offered_start_on or row.start_on, row.offered_days or row.days, now=at
    )
    return Booking(starts_at, ends_at, row.offered_gpus)
