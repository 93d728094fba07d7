"""Sign-offs: every role that a pitch needs answers; the last approval issues the grant, one decline decides."""

from copy import copy

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import grants, queries, rules, turns
from allocations.errors import BadTerms, WrongState
from allocations.locks import lock_row, one_at_a_time
from allocations.models import Person, Pitch, Project, Role, SignOff
from allocations.notify import page, tell
from allocations.pitches.common import require_state, tell_signers
from inventory import trail
from inventory.models import Event


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
    require_state(row, pitch.state, Pitch.State.SUBMITTED)
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
        tell_signers(event, pitch, waiting, _("has new terms and waits for your signature"), but={by})
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


def _same_answer(
    pitch: Pitch, by: Person, role: Role, verdict: str, seen_round: int, gpus: int | None
) -> SignOff | None:
    """The sign-off that this one repeats: of that round, or of the next one that it opened itself."""
    own = pitch.sign_offs.filter(person=by, role=role, verdict=verdict)
    same = (
        own.filter(round=seen_round) if gpus is None else own.filter(round__in=[seen_round, seen_round + 1], gpus=gpus)
    )
    return same.order_by("-round").first()
