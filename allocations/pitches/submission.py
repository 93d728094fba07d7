"""A pitch that is submitted waits for the roles that policies name that day; its pitcher may take it back."""

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import asks, grants, queries, rules
from allocations.days import day_of
from allocations.errors import NobodyToSign
from allocations.locks import one_at_a_time
from allocations.models import Person, Pitch, PitchRole, Role
from allocations.pitches.common import lock_in, tell_signers
from inventory import trail


@one_at_a_time
def submit_pitch(*, pitch: Pitch, by: Person) -> Pitch:
    """The pitch waits for the roles that policies in force name, which are frozen into it; their holders are told.

    What it asks for, its ideal, must fit at every instant of its time; that is checked again at the last signature.
    Only ops may name a first day in the past (the trail says so); the promise still begins at the last signature.
    Raises NotAllowed, WrongState, Stale, BadTerms, NobodyToSign, OverShare, OverCapacity.
    """
    rules.require(by, "edit_pitch", pitch)
    rules.require(by, "pitch_for", pitch.project)
    lock_in(pitch, Pitch.State.DRAFT)
    now = timezone.now()
    today = day_of(now, grants.site_zone())
    asks.check_whole(pitch, today=today, may_back_date=rules.can(by, "back_date"))
    roles = _roles_that_sign(pitch)
    starts_at, ends_at = grants.promised_time(pitch.start_on, pitch.days, now=now)
    grants.require_room(
        project=pitch.project, model=pitch.model, gpus=pitch.ideal_gpus, starts_at=starts_at, ends_at=ends_at
    )
    PitchRole.objects.bulk_create(PitchRole(pitch=pitch, role=role) for role in roles)
    Pitch.objects.advance(pitch, Pitch.State.SUBMITTED, submitted_at=now, offered_gpus=pitch.ideal_gpus)
    event = trail.record(
        "pitch.submitted", pitch, by=by, project=pitch.project.slug, model=pitch.model.name, gpus=pitch.ideal_gpus,
        min_gpus=pitch.min_gpus, start_on=pitch.start_on, days=pitch.days, roles=[role.slug for role in roles],
        back_dated=pitch.start_on < today,
    )  # fmt: skip
    tell_signers(event, pitch, roles, _("waits for your signature"))
    return pitch


@one_at_a_time
def withdraw_pitch(*, pitch: Pitch, by: Person, reason: str = "") -> Pitch:
    """Nobody needs to decide on the pitch any more; the pitcher or the project's lead took it back.

    Raises NotAllowed, WrongState, Stale when somebody decided first.
    """
    rules.require(by, "withdraw_pitch", pitch)
    lock_in(pitch, Pitch.State.DRAFT, Pitch.State.SUBMITTED)
    before = pitch.state
    Pitch.objects.advance(pitch, Pitch.State.WITHDRAWN, withdrawn_at=timezone.now())
    label = _("a draft") if before == Pitch.State.DRAFT else ""
    trail.record("pitch.withdrawn", pitch, by=by, reason=reason, label=label, before=before)
    return pitch


def _roles_that_sign(pitch: Pitch) -> list[Role]:
    roles = queries.roles_for_pitch(division=pitch.project.division, gpus=pitch.ideal_gpus, days=pitch.days)
    if not roles:
        raise NobodyToSign(
            _("No policy says who signs this. Ask an admin for one that holds for %(division)s.")
            % {"division": pitch.project.division.name}
        )
    lacking = queries.without_signer(roles, but={pitch.pitcher})
    if lacking:
        message = _("Nobody holds the role %(role)s. Ask an admin to give it to somebody.")
        if queries.holders_of([lacking])[lacking]:
            message = _(
                "As %(role)s somebody must sign besides you and those who sign for the other roles. Ask an admin."
            )
        raise NobodyToSign(message % {"role": lacking.name}, role=lacking.slug)
    return roles
