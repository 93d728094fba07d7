"""A pitch that is submitted waits for the roles that policies name that day; its pitcher may take it back."""

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import asks, grants, queries, rules
from allocations.days import day_of
from allocations.locks import one_at_a_time
from allocations.models import Person, Pitch
from allocations.notify import page, settle
from allocations.pitches import terms, waitlist
from allocations.pitches.answers import UNANSWERED
from allocations.pitches.common import lock_in, tell_signers
from allocations.pitches.needed import first_day, freeze_policy
from allocations.pitches.places import require_places
from inventory import trail


@one_at_a_time
def submit_pitch(*, pitch: Pitch, by: Person) -> Pitch:
    """The pitch waits for the roles that policies in force name, which are frozen into it; their holders are told.

    A pitch that was asked to change begins its next round: earlier signatures count no more. What it asks for, its
    ideal, must fit at every instant of its time, from the first day of its start window on which it does; that is
    checked again at the last signature. Above the division's share only the whole fleet bounds it where a policy says
    who signs such asks.
    Only ops may name a first day in the past (the trail says so); the promise still begins at the last signature.
    Raises NotAllowed, WrongState, Stale, BadTerms, NobodyToSign, OverShare, OverCapacity.
    """
    rules.require(by, "edit_pitch", pitch)
    rules.require(by, "pitch_for", pitch.project)
    lock_in(pitch, Pitch.State.DRAFT, Pitch.State.CHANGES)
    now = timezone.now()
    today = day_of(now, grants.site_zone())
    asks.check_whole(pitch, today=today, may_back_date=rules.can(by, "back_date"))
    require_places(pitch)
    start_on = first_day(pitch, now=now)
    roles = freeze_policy(pitch, start_on=start_on, now=now)
    is_revised = pitch.state == Pitch.State.CHANGES
    # A round of changes costs nobody the place in the queue.
    stamps = {
        "submitted_at": pitch.submitted_at or now,
        **terms.columns_of(pitch, pitch.asked._replace(start_on=start_on)),
    }
    stamps |= {"round": terms.next_round(pitch), **UNANSWERED} if is_revised else {}
    Pitch.objects.advance(
        pitch, Pitch.State.SUBMITTED, counts_from=pitch.counts_from, is_over_share=pitch.is_over_share,
        is_fast_lane=pitch.is_fast_lane, **stamps,
    )  # fmt: skip
    event = trail.record(
        "pitch.revised" if is_revised else "pitch.submitted", pitch, by=by, project=pitch.project.slug,
        model=pitch.model.name, gpus=pitch.ideal_gpus, min_gpus=pitch.min_gpus, start_on=start_on,
        days=pitch.days, roles=[role.slug for role in roles], back_dated=pitch.start_on < today,
        over_share=pitch.is_over_share, fast_lane=pitch.is_fast_lane,
    )  # fmt: skip
    what = _("has been changed and waits for your signature") if is_revised else _("waits for your signature")
    tell_signers(event, pitch, queries.roles_in_turn(pitch), what)
    return pitch


@one_at_a_time
def withdraw_pitch(*, pitch: Pitch, by: Person, reason: str = "") -> Pitch:
    """Nobody needs to decide on the pitch any more; the pitcher or the project's lead took it back.

    Raises NotAllowed, WrongState, Stale when somebody decided first.
    """
    rules.require(by, "withdraw_pitch", pitch)
    lock_in(pitch, Pitch.State.DRAFT, *Pitch.OPEN)
    before = pitch.state
    waitlist.close_gap(pitch)
    Pitch.objects.advance(pitch, Pitch.State.WITHDRAWN, withdrawn_at=timezone.now(), waitlist_rank=None)
    settle(page("queue", pitch.public_id), at=timezone.now())
    label = _("a draft") if before == Pitch.State.DRAFT else ""
    trail.record("pitch.withdrawn", pitch, by=by, reason=reason, label=label, before=before)
    return pitch
