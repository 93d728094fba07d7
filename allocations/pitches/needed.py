"""The policies of the moment of submission, frozen into a pitch: who signs, in which order, by when, who hears then."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta

from django.utils.translation import gettext as _

from allocations import grants, queries, turns
from allocations.calendar import calendar_of
from allocations.capacity import Booking
from allocations.days import day_of, start_of
from allocations.errors import NobodyToSign, OverShare
from allocations.locks import lock_row
from allocations.models import Person, Pitch, PitchRole, Role
from allocations.queries import Needed, Signing


def first_day(pitch: Pitch, *, now: datetime) -> date:
    """The first day of the start window from which the ideal fits; the earliest one where there is none such."""
    if pitch.start_until is None:
        return pitch.start_on
    zone = grants.site_zone()
    ask = Booking(*grants.promised_time(pitch.start_on, pitch.days, now=now), pitch.ideal_gpus)
    room = queries.capacity_of(pitch.model, at=ask.starts_at)
    latest = start_of(pitch.start_until, zone)
    found = room.earliest_start(pitch.project.division, ask, latest=max(latest, ask.starts_at))
    if found is None or found <= ask.starts_at:
        return pitch.start_on
    day = day_of(found, zone)
    day += timedelta(days=start_of(day, zone) < found)  # what frees up during a day begins with the next one
    return day if day <= pitch.start_until else pitch.start_on


def freeze_policy(pitch: Pitch, *, start_on: date, now: datetime) -> list[Role]:
    """The locked pitch needs the roles that the policies name at `now`, in place of any it had.

    Its ideal fits from `start_on` on. One above the share that renews an exception needs those who sign the split, too.
    Sets what the policies say on the pitch in memory, `is_over_share`,
    `is_fast_lane` and `counts_from`; the caller stores them. Locks the project where a fast lane could be taken, so
    that its asks pass the cap one at a time.
    Raises OverShare where no policy lets an ask above the share through, OverCapacity, NobodyToSign.
    """
    pitch.is_over_share = _stands_over_share(pitch, start_on, now)
    lane = None if pitch.is_over_share else _fast_lane(pitch, now)
    signing = lane or _signing(pitch, over_share=pitch.is_over_share)
    if pitch.is_over_share and _renews(pitch, start_on, now):
        roles = queries.roles_for_split()
        turns.require_signers(roles, what=_("the renewal of an exception above the split"))
        signing = queries.with_split_signers(signing)
    pitch.is_fast_lane, pitch.counts_from = lane is not None, signing.counts_from
    _require_people(pitch, signing)
    pitch.needed_roles.all().delete()
    PitchRole.objects.bulk_create(_rows(pitch, signing.needed, now))
    return signing.roles


def _stands_over_share(pitch: Pitch, start_on: date, now: datetime) -> bool:
    starts_at, ends_at = grants.promised_time(start_on, pitch.days, now=now)
    try:
        grants.require_room(
            project=pitch.project, model=pitch.model, gpus=pitch.ideal_gpus, starts_at=starts_at, ends_at=ends_at
        )
    except OverShare:
        if not _signing(pitch, over_share=True).names_over_share:
            raise
        grants.require_room(
            project=pitch.project, model=pitch.model, gpus=pitch.ideal_gpus, starts_at=starts_at, ends_at=ends_at,
            above_share=True,
        )  # fmt: skip
        return True
    return False


def _renews(pitch: Pitch, start_on: date, now: datetime) -> bool:
    time = grants.promised_time(start_on, pitch.days, now=now)
    return queries.exception_renewed(pitch.project.division, pitch.model, *time) is not None


def _signing(pitch: Pitch, *, over_share: bool) -> Signing:
    return queries.signing_of(
        division=pitch.project.division, gpus=pitch.ideal_gpus, days=pitch.days, over_share=over_share
    )


def _fast_lane(pitch: Pitch, now: datetime) -> Signing | None:
    """The fast lane under whose cap the project stays with this ask; None where there is none."""
    gpus, days = pitch.ideal_gpus, pitch.days
    lanes = queries.ways_to_sign(division=pitch.project.division, gpus=gpus, days=days).lanes
    if not lanes:
        return None
    lock_row(pitch.project)
    lane = queries.open_lane(lanes, project=pitch.project, gpus=gpus, days=days, at=now, but=pitch)
    return lane.signing if lane else None


def _require_people(pitch: Pitch, signing: Signing) -> None:
    if not signing.roles:
        raise NobodyToSign(
            _("No policy says who signs this. Ask an admin for one that holds for %(division)s.")
            % {"division": pitch.project.division.name}
        )
    barred = queries.barred_from_pitch(pitch)  # a draft that has changed hands has one who pitched it before, too
    lacking = queries.without_signer(signing.roles, but=Person.objects.filter(pk__in=barred))
    if lacking:
        message = _("Nobody holds the role %(role)s. Ask an admin to give it to somebody.")
        if queries.holders_of([lacking])[lacking]:
            message = _(
                "As %(role)s somebody must sign besides you and those who sign for the other roles. Ask an admin."
            )
        raise NobodyToSign(message % {"role": lacking.name}, role=lacking.slug)


def _rows(pitch: Pitch, needed: Iterable[Needed], now: datetime) -> list[PitchRole]:
    """Each role has its working days from when those before it are due."""
    rows, days_before, calendar = [], 0, calendar_of(pitch.project.division)
    needed = list(needed)
    for position in sorted({each.position for each in needed}):
        turn = [each for each in needed if each.position == position]
        for each in turn:
            days = each.due_working_days
            due_at = None if days is None else calendar.due_after(now, days_before + days)
            rows.append(
                PitchRole(pitch=pitch, role=each.role, position=position, due_at=due_at, escalates_to=each.escalates_to)
            )
        days_before += max(each.due_working_days or 0 for each in turn)
    return rows
