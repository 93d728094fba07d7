"""Undo for some seconds: an answer is taken back before anybody was told, and the pitch stands as it did."""

from datetime import date
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations.errors import NotAllowed, Stale, WrongState
from allocations.locks import lock_row, lock_target, one_at_a_time
from allocations.models import Assignment, Grant, Move, Notice, OutboxMessage, Person, Pitch, SignOff, SplitException
from allocations.notify import page, unsettle
from allocations.pitches import answers, revisions, waitlist, writing
from inventory import trail
from inventory.models import Event, GpuModel

Verdict = SignOff.Verdict


@one_at_a_time
def undo_sign_off(*, sign_off: SignOff, by: Person) -> SignOff:
    """The answer counts no more: state, terms and rank of the pitch are as before, a grant that it issued is withdrawn.

    Only its author, within `UNDO_S` seconds, and only while nothing else has happened to the pitch since and no plan
    uses the grant. What would have told people is gone unread; the trail keeps both. Undone twice is undone once.
    Locks the pitch, then the target where there is a grant.
    Raises NotAllowed, WrongState (too late, or in use; the message says what to do instead), Stale.
    """
    if by.pk != sign_off.person_id:
        raise NotAllowed(_("Only %(person)s can undo this answer.") % {"person": sign_off.person.name})
    pitch = Pitch.objects.get(pk=sign_off.pitch_id)
    lock_row(pitch)
    row = SignOff.every.select_related("role", "person").get(pk=sign_off.pk)
    if row.undone_at is not None:
        return row
    if timezone.now() >= writing.leaves_at(row):
        raise WrongState(_too_late(pitch, row), undo_s=settings.UNDO_S)
    given = _own_events(pitch, row)
    _unsay(given)
    _withdraw_grant(pitch, row)
    _take_back_changes(pitch, row)
    _restore(pitch, given[0].facts["before"])
    unsettle(page("queue", pitch.public_id), at=row.at)
    row.undone_at = timezone.now()
    row.save(update_fields=["undone_at"])
    trail.record(
        "sign_off.undone", pitch, by=by, sign_off=row.pk, role=row.role.slug, verdict=row.verdict, round=row.round,
        restored=given[0].facts["before"],
    )  # fmt: skip
    return row


def _own_events(pitch: Pitch, row: SignOff) -> list[Event]:
    """The events that the answer wrote, oldest first. Raises Stale when something else has happened since."""
    events = Event.objects.filter(subject_kind="pitch", subject_id=str(pitch.pk)).order_by("pk")
    given = events.filter(verb="sign_off.given", facts__sign_off=row.pk).first()
    assert given is not None, "every sign-off has its event"
    since = list(events.filter(pk__gte=given.pk))
    other = next((event for event in since if event.facts.get("sign_off") != row.pk), None)
    if other is not None:
        raise Stale(
            _("%(person)s has acted on this pitch since: your answer stands. Look again.") % {"person": other.actor},
            verb=other.verb,
        )
    return since


def _unsay(events: list[Event]) -> None:
    """Nobody hears of the events. Waits for a worker that holds a message. Raises WrongState when one has left."""
    messages = OutboxMessage.objects.filter(event__in=events).order_by("pk").select_for_update(of=("self",))
    if any(message.sent_at is not None for message in messages):
        raise WrongState(_("A message about your answer has left already, so it stands."))
    OutboxMessage.objects.filter(event__in=events).delete()
    Notice.objects.filter(event__in=events).delete()


def _withdraw_grant(pitch: Pitch, row: SignOff) -> None:
    """The grant that the answer issued promises nothing. Raises WrongState when a plan or a change uses it."""
    grant = Grant.objects.filter(pitch=pitch).first()
    if grant is None:
        return
    lock_target()  # a commit that uses the grant comes before this, and is seen, or after it, and finds no need
    lock_row(grant)
    _require_unused(grant)
    now = timezone.now()
    grant.pitch, grant.undone_pitch = None, pitch
    grant.ends_at, grant.ended_at, grant.ended_by = grant.starts_at, now, row.person
    grant.save(update_fields=["pitch", "undone_pitch", "ends_at", "ended_at", "ended_by"])
    trail.record("grant.withdrawn", grant, by=row.person, pitch=pitch.public_id, gpus=grant.gpus, sign_off=row.pk)
    _withdraw_exceptions(pitch, row)


def _withdraw_exceptions(pitch: Pitch, row: SignOff) -> None:
    """What the answer completed above the share is signed no more, and no later grant of the pitch lives by it."""
    signed = SplitException.State.SIGNED
    for exception in SplitException.objects.filter(pitch=pitch, state=signed).order_by("pk"):
        SplitException.objects.advance(exception, SplitException.State.WITHDRAWN, signed_at=None)
        trail.record("exception.withdrawn", exception, by=row.person, pitch=pitch.public_id, sign_off=row.pk)


def _require_unused(grant: Grant) -> None:
    used = Move.objects.filter(grant=grant).exists() or Assignment.objects.filter(grant=grant).exists()
    if used or grant.changes.exists():
        raise WrongState(
            _("GPUs are being moved for this grant already. Ask for its end on the page of the grant."),
            grant=str(grant.public_id),
        )


def _take_back_changes(pitch: Pitch, row: SignOff) -> None:
    """The ask is whole again. Raises Stale when its pitcher has begun to change it."""
    if row.verdict != Verdict.CHANGES:
        return
    revision = pitch.revisions.get(round=row.round)
    if revisions.changed_since(revision, pitch):
        raise Stale(_("%(person)s has begun to change the pitch.") % {"person": pitch.pitcher.name})
    revision.delete()


def _restore(pitch: Pitch, before: dict[str, Any]) -> None:
    if pitch.state == Pitch.State.WAITLISTED and before["state"] != pitch.state:
        waitlist.close_gap(pitch)
    if pitch.state != Pitch.State.WAITLISTED and before["state"] == Pitch.State.WAITLISTED:
        before = before | {"waitlist_rank": waitlist.make_room(pitch, before["waitlist_rank"])}
    model, start_on = before["offered_model"], before["offered_start_on"]
    stamps = {
        "round": before["round"], "offered_gpus": before["offered_gpus"], "offered_days": before["offered_days"],
        "offered_model": GpuModel.objects.get(name=model) if model else None,
        "offered_start_on": date.fromisoformat(start_on) if start_on else None,
        "waitlist_rank": before["waitlist_rank"], "decided_at": None, "decided_by": None, **answers.UNANSWERED,
    }  # fmt: skip
    if pitch.state != before["state"]:
        Pitch.objects.advance(pitch, before["state"], **stamps)
        return
    for name, value in stamps.items():
        setattr(pitch, name, value)
    pitch.save(update_fields=list(stamps))


def _too_late(pitch: Pitch, row: SignOff) -> str:
    instead = {
        Pitch.State.GRANTED: _("Ask for the end of the grant on its page."),
        Pitch.State.DECLINED: _("The pitcher can pitch it again from its page."),
        Pitch.State.CHANGES: _("The pitcher can submit it again as it is."),
        Pitch.State.WAITLISTED: _("Sign it from the waitlist, or change its rank there."),
        Pitch.State.OFFERED: _("The pitcher can decline the offer; then the terms are open again."),
    }
    seconds = _("An answer can be undone for %(seconds)s seconds.") % {"seconds": settings.UNDO_S}
    open_still = _("Whoever signs for another role can still decline it or put other terms on the table.")
    return f"{seconds} {instead.get(Pitch.State(pitch.state), open_still)}"
