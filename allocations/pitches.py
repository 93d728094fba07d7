"""Pitches: written, submitted to the roles that policies name that day, signed by all of them or declined by one."""

from collections.abc import Collection
from copy import copy
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import asks, grants, queries, rules, turns
from allocations.days import day_of
from allocations.errors import BadTerms, NobodyToSign, Stale, WrongState
from allocations.locks import lock_row, one_at_a_time
from allocations.models import Person, Pitch, PitchRole, Project, Role, SignOff
from allocations.notify import page, tell
from inventory import trail
from inventory.models import Event, GpuModel


@one_at_a_time
def save_draft(
    *,
    pitch: Pitch | None,
    by: Person,
    project: Project,
    title: str,
    why: str,
    expected_result: str,
    check_on: date | None,
    if_declined: str,
    model: GpuModel,
    ideal_gpus: int,
    min_gpus: int,
    whole_nodes: bool,
    one_island: bool,
    start_on: date,
    days: int,
    version: str | None = None,
    public_id: UUID | None = None,
    is_autosave: bool = False,
) -> Pitch:
    """The draft says this; a new one of `by` where `pitch` is None. Nobody else sees it, and it need not be whole yet.

    `version` is what the writer saw (`asks.version_of`), None for one who does not care; `public_id` is the new one's.
    What is only kept while it is typed leaves no event: the trail has the beginning and what is submitted.
    Raises NotAllowed, BadTerms for numbers that no pitch can have, WrongState or Stale when it is no draft any more,
    Stale with the `version` of now when it has changed since that one and does not say this already.
    """
    rules.require(by, "pitch_for", project)
    terms: dict[str, Any] = {
        "project": project, "title": title.strip(), "why": why.strip(), "expected_result": expected_result.strip(),
        "check_on": check_on, "if_declined": if_declined.strip(), "model": model, "ideal_gpus": ideal_gpus,
        "min_gpus": min_gpus, "offered_gpus": ideal_gpus, "whole_nodes": whole_nodes, "one_island": one_island,
        "start_on": start_on, "days": days,
    }  # fmt: skip
    if pitch is None:
        return _begin(Pitch(pitcher=by, **({"public_id": public_id} if public_id else {}), **terms))
    rules.require(by, "edit_pitch", pitch)
    _lock_in(pitch, Pitch.State.DRAFT)
    before = {name: getattr(pitch, name) for name in terms}
    # Which fields, not what they say: many read the trail, a draft is its writer's alone.
    changed = sorted(name for name in before if before[name] != terms[name])
    if changed and version not in (None, asks.version_of(pitch)):
        message = _("This draft was saved elsewhere since you opened it. Nothing was overwritten.")
        raise Stale(message, version=asks.version_of(pitch))
    for name, value in terms.items():
        setattr(pitch, name, value)
    asks.check_numbers(pitch)
    pitch.save()
    if not is_autosave:
        trail.record("pitch.edited", pitch, by=by, label=_("a draft"), changed=changed)
    return pitch


def _begin(pitch: Pitch, **facts: Any) -> Pitch:
    asks.check_numbers(pitch)
    try:
        with transaction.atomic():
            pitch.save()
    except IntegrityError as error:
        # Only the id can be taken: the numbers have been checked.
        raise Stale(_("This draft has just been saved. Open it from your pitches.")) from error
    trail.record("pitch.drafted", pitch, by=pitch.pitcher, label=_("a draft"), changed=[], **facts)
    return pitch


@one_at_a_time
def resubmit_pitch(*, pitch: Pitch, by: Person) -> Pitch:
    """A draft of `by` that follows a declined or withdrawn pitch and says the same, from today on at the earliest.

    Pressed again it is the same row while that one is a draft or waits. The earlier decision stays as it is.
    Raises NotAllowed, WrongState when it is neither, or when somebody else's pitch that waits follows it already.
    """
    rules.require(by, "see_pitch", pitch)
    rules.require(by, "pitch_for", pitch.project)
    _lock_in(pitch, Pitch.State.DECLINED, Pitch.State.WITHDRAWN)
    following = pitch.resubmissions.filter(state__in=[Pitch.State.DRAFT, Pitch.State.SUBMITTED])
    own = following.filter(pitcher=by).order_by("-pk").first()
    if own:
        return own
    if following.filter(state=Pitch.State.SUBMITTED).exists():
        raise WrongState(_("Another pitch follows this one already and waits for its signatures."))
    today = day_of(timezone.now(), grants.site_zone())
    later = max(today - pitch.start_on, timedelta())
    terms = {name: getattr(pitch, name) for name in asks.SAID} | {
        "start_on": pitch.start_on + later,
        "check_on": pitch.check_on and pitch.check_on + later,
    }
    draft = Pitch(pitcher=by, resubmits=pitch, offered_gpus=pitch.ideal_gpus, **terms)
    return _begin(draft, follows=str(pitch.public_id))


@one_at_a_time
def submit_pitch(*, pitch: Pitch, by: Person) -> Pitch:
    """The pitch waits for the roles that policies in force name, which are frozen into it; their holders are told.

    What it asks for, its ideal, must fit at every instant of its time; that is checked again at the last signature.
    Only ops may name a first day in the past (the trail says so); the promise still begins at the last signature.
    Raises NotAllowed, WrongState, Stale, BadTerms, NobodyToSign, OverShare, OverCapacity.
    """
    rules.require(by, "edit_pitch", pitch)
    rules.require(by, "pitch_for", pitch.project)
    _lock_in(pitch, Pitch.State.DRAFT)
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
    _tell_signers(event, pitch, roles, _("waits for your signature"))
    return pitch


@one_at_a_time
def withdraw_pitch(*, pitch: Pitch, by: Person, reason: str = "") -> Pitch:
    """Nobody needs to decide on the pitch any more; the pitcher or the project's lead took it back.

    Raises NotAllowed, WrongState, Stale when somebody decided first.
    """
    rules.require(by, "withdraw_pitch", pitch)
    _lock_in(pitch, Pitch.State.DRAFT, Pitch.State.SUBMITTED)
    before = pitch.state
    Pitch.objects.advance(pitch, Pitch.State.WITHDRAWN, withdrawn_at=timezone.now())
    label = _("a draft") if before == Pitch.State.DRAFT else ""
    trail.record("pitch.withdrawn", pitch, by=by, reason=reason, label=label, before=before)
    return pitch


@one_at_a_time
def sign_off(
    *,
    pitch: Pitch,
    by: Person,
    role: Role,
    verdict: str,
    round: int,  # noqa: A002 - the product's word for it
    gpus: int | None = None,
    reason: str = "",
) -> SignOff:
    """`by` has answered for `role` to the terms of that round; the last approval issues the grant with it.

    `gpus` None is what is on the table. Fewer, but not below the minimum, open the next round with that number, signed
    by `by`: the others sign again. A deputy signs where the principal could, and the two count as one. A decline needs
    a reason and decides at once. One's own answer repeated changes nothing and comes back. Locks the pitch, at the last
    signature the shares of its GPU model too.
    Raises NotAllowed, BadTerms, WrongState, Stale when the round is past or somebody was first, and OverShare or
    OverCapacity when the promise no longer fits: then nothing is written, and the last signer may approve fewer.
    """
    rules.require(by, "sign_pitch", pitch)
    turns.require_role(pitch, by, role)
    if verdict not in SignOff.Verdict:
        raise BadTerms(_("A sign-off approves or declines."), field="verdict")
    row = copy(pitch)  # so that `pitch` shows nothing that a refusal rolled back
    lock_row(row)
    repeated = _same_answer(row, by, role, verdict, round, gpus)
    if repeated:
        return repeated
    _require_state(row, pitch.state, Pitch.State.SUBMITTED)
    mandate = turns.require_turn(row, by, role, round)
    if verdict == SignOff.Verdict.DECLINE:
        signed = _decline(row, by, mandate, reason)
    else:
        signed = _approve(row, by, mandate, row.offered_gpus if gpus is None else gpus, reason)
    pitch.refresh_from_db()
    return signed


def _approve(pitch: Pitch, by: Person, mandate: queries.Mandate, gpus: int, reason: str) -> SignOff:
    if pitch.project.state == Project.State.ENDED:
        raise WrongState(_("%(project)s has ended: it can only be declined.") % {"project": pitch.project.name})
    if not pitch.min_gpus <= gpus <= pitch.offered_gpus:
        raise BadTerms(
            _("Approve from %(min)s, which is the least that helps, to %(offered)s GPUs.")
            % {"min": pitch.min_gpus, "offered": pitch.offered_gpus},
            field="gpus", min_gpus=pitch.min_gpus, offered_gpus=pitch.offered_gpus,
        )  # fmt: skip
    before = pitch.offered_gpus
    if gpus < before:
        pitch.round, pitch.offered_gpus = pitch.round + 1, gpus
        pitch.save(update_fields=["round", "offered_gpus"])
    signed, event = _sign(pitch, by, mandate, SignOff.Verdict.APPROVE, reason, before)
    waiting = queries.roles_that_wait(pitch)
    if not waiting:
        grants.issue_grant(pitch=pitch, gpus=gpus, by=by)
        _decide(pitch, by, Pitch.State.GRANTED, reason)
    elif gpus < before:
        _tell_signers(event, pitch, waiting, _("has new terms and waits for your signature"), but={by})
    return signed


def _decline(pitch: Pitch, by: Person, mandate: queries.Mandate, reason: str) -> SignOff:
    if not reason.strip():
        raise BadTerms(_("Say why: the pitcher reads it."), field="reason")
    signed, _event = _sign(pitch, by, mandate, SignOff.Verdict.DECLINE, reason, pitch.offered_gpus)
    _decide(pitch, by, Pitch.State.DECLINED, reason)
    return signed


def _sign(
    pitch: Pitch, by: Person, mandate: queries.Mandate, verdict: str, reason: str, before: int
) -> tuple[SignOff, Event]:
    signed = SignOff.objects.create(
        pitch=pitch, round=pitch.round, role=mandate.role, person=by, deputy_for=mandate.deputy_for, verdict=verdict,
        gpus=pitch.offered_gpus, reason=reason.strip(), at=timezone.now(),
    )  # fmt: skip
    event = trail.record(
        "sign_off.given", pitch, by=by, reason=reason, role=mandate.role.slug, verdict=verdict, round=pitch.round,
        before_gpus=before, gpus=pitch.offered_gpus, **mandate.said,
    )  # fmt: skip
    return signed, event


def _decide(pitch: Pitch, by: Person, state: Pitch.State, reason: str) -> None:
    Pitch.objects.advance(pitch, state, decided_at=timezone.now(), decided_by=by)
    event = trail.record(
        f"pitch.{state.value}", pitch, by=by, reason=reason, project=pitch.project.slug, asked_gpus=pitch.ideal_gpus,
        gpus=pitch.offered_gpus, round=pitch.round,
    )  # fmt: skip
    if state == Pitch.State.GRANTED:
        subject, body = _("Granted: %(title)s"), _("%(person)s signed last: %(gpus)s %(model)s for %(project)s.")
    else:
        subject, body = _("Declined: %(title)s"), _("%(person)s declined it: %(reason)s")
    words = {
        "title": pitch.title, "person": by.name, "gpus": pitch.offered_gpus, "model": pitch.model.name,
        "project": pitch.project.name, "reason": reason,
    }  # fmt: skip
    tell(event, {pitch.pitcher}, subject % words, body % words, page("pitches", pitch.public_id))


def _tell_signers(
    event: Event, pitch: Pitch, roles: Collection[Role], what: str, *, but: Collection[Person] = ()
) -> None:
    words = {
        "title": pitch.title, "what": what, "gpus": pitch.offered_gpus, "model": pitch.model.name,
        "project": pitch.project.name, "days": pitch.days, "why": pitch.why,
    }  # fmt: skip
    tell(
        event,
        queries.signers_of(pitch, roles) - {*but},
        _("%(title)s %(what)s") % words,
        _("%(project)s asks for %(gpus)s %(model)s for %(days)s days.\n\n%(why)s") % words,
        page("queue", pitch.public_id),
    )


def _lock_in(pitch: Pitch, *states: Pitch.State) -> None:
    seen = pitch.state
    lock_row(pitch)
    _require_state(pitch, seen, *states)


def _require_state(pitch: Pitch, seen: str, *states: Pitch.State) -> None:
    if pitch.state in states:
        return
    message = _("This pitch: %(state)s. There is no such step from here.") % {"state": pitch.get_state_display()}
    if seen != pitch.state:
        raise Stale(_("Somebody was first. %(message)s") % {"message": message}, old=seen, new=pitch.state)
    raise WrongState(message, state=pitch.state)


def _same_answer(
    pitch: Pitch, by: Person, role: Role, verdict: str, seen_round: int, gpus: int | None
) -> SignOff | None:
    """The sign-off that this one repeats: of that round, or of the next one that it opened itself."""
    own = pitch.sign_offs.filter(person=by, role=role, verdict=verdict)
    same = (
        own.filter(round=seen_round) if gpus is None else own.filter(round__in=[seen_round, seen_round + 1], gpus=gpus)
    )
    return same.order_by("-round").first()


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
