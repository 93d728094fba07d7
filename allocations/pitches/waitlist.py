"""The waitlist of a division and a GPU model: ranks without gaps, changed by deciders; it decides nothing itself."""

from collections.abc import Iterable
from itertools import groupby

from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import grants, queries, rules
from allocations.capacity import Booking
from allocations.errors import BadTerms, NotAllowed
from allocations.locks import lock_row, lock_shares, one_at_a_time
from allocations.models import Person, Pitch
from allocations.pitches.common import lock_in, tell_signers
from inventory import trail
from inventory.models import Event, GpuModel

WAITLISTED = Pitch.State.WAITLISTED


@one_at_a_time
def rank_waitlisted(*, pitch: Pitch, by: Person, rank: int) -> Pitch:
    """The pitch has that rank, 1 first, and the others of its list have moved; beyond the end is the last.

    Whoever may sign the pitch may rank it. The rank that it has already changes nothing. Locks the shares of its model.
    Raises NotAllowed, BadTerms, WrongState, Stale.
    """
    rules.require(by, "sign_pitch", pitch)
    require_rank(rank)
    require_no_own(pitch, by)
    lock_in(pitch, WAITLISTED)
    before = pitch.waitlist_rank
    close_gap(pitch)
    place = make_room(pitch, rank)
    if place == before:
        return pitch
    pitch.waitlist_rank = place
    pitch.save(update_fields=["waitlist_rank"])
    trail.record("pitch.ranked", pitch, by=by, before=before, after=place)
    return pitch


def require_rank(rank: int | None) -> None:
    """The rank is one that a list has; None is its end. Raises BadTerms."""
    if rank is not None and rank < 1:
        raise BadTerms(_("The first rank of a waitlist is 1."), field="rank")


def require_no_own(pitch: Pitch, by: Person) -> None:
    """`by` has no pitch on that list: who ranks the others ranks an own one with them. Raises NotAllowed."""
    if _others(pitch).filter(pitcher=by).exists():
        raise NotAllowed(_("A pitch of yours is on this waitlist: somebody else ranks it."))


def make_room(pitch: Pitch, rank: int | None) -> int:
    """The rank that the pitch gets among the others; those from there on have moved down by one."""
    lock_shares(pitch.model)
    others = _others(pitch)
    last = others.count() + 1
    place = last if rank is None else min(rank, last)
    others.filter(waitlist_rank__gte=place).update(waitlist_rank=F("waitlist_rank") + 1)
    return place


def close_gap(pitch: Pitch) -> None:
    """Those behind the pitch have moved up by one; nothing for a pitch that is on no waitlist."""
    if pitch.state != WAITLISTED:
        return
    lock_shares(pitch.model)
    behind = _others(pitch).filter(waitlist_rank__gt=pitch.waitlist_rank)
    behind.update(waitlist_rank=F("waitlist_rank") - 1)


def point_out_waitlisted() -> int:
    """On every list the first pitch that fits now has been pointed out to those who sign it, once; how many just were.

    It fits when its minimum does, or the whole of what lies on the table where that is less or another model.
    """
    rows = Pitch.objects.filter(state=WAITLISTED).select_related("project__division", "model", "offered_model")
    ordered = rows.order_by("model_id", "project__division_id", "waitlist_rank")
    rooms: dict[GpuModel, queries.ModelCapacity] = {}
    told = 0
    for _list, pitches in groupby(ordered, key=lambda row: (row.model_id, row.project.division_id)):
        first = _first_that_fits(pitches, rooms)
        told += first is not None and _point_out(first)
    return told


def _first_that_fits(pitches: Iterable[Pitch], rooms: dict[GpuModel, queries.ModelCapacity]) -> Pitch | None:
    now = timezone.now()
    for pitch in pitches:
        terms = pitch.terms
        least = min(pitch.min_gpus, terms.gpus) if terms.model == pitch.model else terms.gpus
        if terms.model not in rooms:
            rooms[terms.model] = queries.capacity_of(terms.model, at=now)
        starts_at, ends_at = grants.promised_time(terms.start_on, terms.days, now=now)
        if rooms[terms.model].shortage(pitch.project.division, Booking(starts_at, ends_at, least)) is None:
            return pitch
    return None


@one_at_a_time
def _point_out(pitch: Pitch) -> bool:
    lock_row(pitch)
    events = Event.objects.filter(verb="pitch.fits", subject_kind="pitch", subject_id=str(pitch.pk))
    if pitch.state != WAITLISTED or events.filter(facts__round=pitch.round).exists():
        return False
    event = trail.record("pitch.fits", pitch, by="waitlist", round=pitch.round, rank=pitch.waitlist_rank)
    what = _("fits now and is on your waitlist at rank %(rank)s") % {"rank": pitch.waitlist_rank}
    tell_signers(event, pitch, queries.roles_in_turn(pitch), what)
    return True


def _others(pitch: Pitch) -> QuerySet[Pitch]:
    rows = Pitch.objects.filter(state=WAITLISTED, model=pitch.model, project__division=pitch.project.division)
    return rows.exclude(pk=pitch.pk)
