"""The pitcher's answer to a counter-offer: accepted it is promised, declined it goes back to those who sign."""

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import exceptions, grants, queries, rules
from allocations.errors import BadTerms, NotAllowed, Stale
from allocations.locks import one_at_a_time
from allocations.models import Grant, Person, Pitch
from allocations.notify import page, tell
from allocations.pitches import terms
from allocations.pitches.common import lock_in, tell_signers
from inventory import trail

UNANSWERED = {"offered_at": None, "answer_due_at": None, "answer_reminded_at": None}


@one_at_a_time
def accept_offer(*, pitch: Pitch, by: Person, round: int) -> Grant:  # noqa: A002 - the product's word for it
    """What is offered is promised: capacity and split are checked again, and who signed last has decided.

    The pitcher accepts, or the project's lead where that one has not signed the offer. `round` is the one that `by`
    saw. Locks the pitch and the shares of the model.
    Raises NotAllowed, WrongState, Stale, OverShare, OverCapacity: then the offer stands as it was.
    """
    rules.require(by, "answer_offer", pitch)
    lock_in(pitch, Pitch.State.OFFERED)
    _require_seen(pitch, round)
    given = list(pitch.sign_offs.filter(round=pitch.round).select_related("person"))
    if by.pk in queries.people_of(given):
        raise NotAllowed(_("You signed this offer yourself: %(person)s answers it.") % {"person": pitch.pitcher.name})
    last = given[-1].person
    grant = grants.issue_offered(pitch=pitch, by=last)
    if pitch.is_over_share:
        exceptions.cover_grant(grant, by=last)
    Pitch.objects.advance(pitch, Pitch.State.GRANTED, decided_at=timezone.now(), decided_by=last)
    offer = pitch.terms
    event = trail.record(
        "pitch.granted", pitch, by=by, project=pitch.project.slug, asked_gpus=pitch.ideal_gpus, gpus=offer.gpus,
        round=pitch.round, accepted=True, decided_by=last.username,
    )  # fmt: skip
    words = {"title": pitch.title, "person": by.name, "gpus": offer.gpus, "model": offer.model.name}
    tell(
        event,
        {pitch.pitcher, pitch.project.lead, *(each.person for each in given)} - {by},
        _("Accepted and granted: %(title)s") % words,
        _("%(person)s accepted your terms: %(gpus)s %(model)s.") % words,
        page("pitches", pitch.public_id),
    )
    return grant


@one_at_a_time
def decline_offer(*, pitch: Pitch, by: Person, round: int, reason: str) -> Pitch:  # noqa: A002
    """The offer is off the table: what was asked for lies there again, in the next round, and the signers are told.

    Raises NotAllowed, BadTerms without a reason, WrongState, Stale.
    """
    rules.require(by, "answer_offer", pitch)
    if not reason.strip():
        raise BadTerms(_("Say why: those who signed the offer read it."), field="reason")
    lock_in(pitch, Pitch.State.OFFERED)
    _require_seen(pitch, round)
    refused = pitch.terms
    back = {"round": terms.next_round(pitch), **terms.columns_of(pitch, pitch.asked), **UNANSWERED}
    Pitch.objects.advance(pitch, Pitch.State.SUBMITTED, **back)
    event = trail.record(
        "pitch.offer_declined", pitch, by=by, reason=reason, round=round, gpus=refused.gpus,
        model=refused.model.name, start_on=refused.start_on, days=refused.days,
    )  # fmt: skip
    what = _("waits for your signature again: %(person)s declined the offer (%(reason)s)")
    tell_signers(event, pitch, queries.roles_in_turn(pitch), what % {"person": by.name, "reason": reason.strip()})
    return pitch


def _require_seen(pitch: Pitch, seen_round: int) -> None:
    if seen_round != pitch.round:
        raise Stale(
            _("The terms have changed since you looked: %(gpus)s %(model)s are offered now.")
            % {"gpus": pitch.terms.gpus, "model": pitch.terms.model.name},
            round=pitch.round, gpus=pitch.terms.gpus,
        )  # fmt: skip
