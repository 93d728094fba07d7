"""The answers that are no approval: a decline, a round of changes, a place on the waitlist. Each needs one signer."""

from django.conf import settings
from django.utils.translation import gettext as _

from allocations import calendar, grants
from allocations.errors import BadTerms, WrongState
from allocations.models import Pitch, SignOff
from allocations.notify import page, settle
from allocations.pitches import revisions, terms, waitlist, writing
from allocations.pitches.writing import Act


def decline(act: Act) -> SignOff:
    """The pitch is declined with a reason. Raises BadTerms without one."""
    _require_reason(act, _("Say why: the pitcher reads it."))
    signed, _event = writing.write_sign_off(act)
    writing.decide(act, signed, Pitch.State.DECLINED)
    return signed


def ask_for_changes(act: Act) -> SignOff:
    """The pitch is with its pitcher again, who edits and submits it by a day; what it said is kept.

    When the day has passed the pitcher and the project's lead are reminded; nothing decides itself. Raises BadTerms.
    """
    _require_reason(act, _("Say what should change: the pitcher reads it."))
    pitch = act.pitch
    signed, _event = writing.write_sign_off(act)
    settle(page("queue", pitch.public_id), at=signed.at)
    revisions.keep_revision(pitch, by=act.by)
    waitlist.close_gap(pitch)
    due_at = calendar.due_after(signed.at, settings.ANSWER_WORKING_DAYS, division=pitch.project.division)
    stamps = {"answer_due_at": due_at, "answer_reminded_at": None, "waitlist_rank": None}
    Pitch.objects.advance(pitch, Pitch.State.CHANGES, **stamps)
    event = writing.record(signed, "pitch.changes", by=act.by, reason=act.reason, round=pitch.round, due_at=due_at)
    subject = _("Changes asked for: %(title)s")
    body = _("%(person)s asks for changes: %(reason)s\n\nChange it and submit it again by %(when)s.")
    writing.tell_askers(
        signed, event, {pitch.pitcher}, subject, body,
        person=act.by.name, reason=act.reason, when=grants.spoken_at(due_at),
    )  # fmt: skip
    return signed


def put_on_waitlist(act: Act, rank: int | None) -> SignOff:
    """The pitch waits on its list at that rank, last where none is named, and signatures begin anew.

    Raises BadTerms, WrongState when it is on the list already.
    """
    pitch = act.pitch
    waitlist.require_rank(rank)
    if rank is not None:
        waitlist.require_no_own(pitch, act.by)
    if pitch.state == Pitch.State.WAITLISTED:
        raise WrongState(_("This pitch is on the waitlist already; change its rank there."), rank=pitch.waitlist_rank)
    following = terms.next_round(pitch)
    signed, _event = writing.write_sign_off(act)
    place = waitlist.make_room(pitch, rank)
    Pitch.objects.advance(pitch, Pitch.State.WAITLISTED, waitlist_rank=place, round=following)
    event = writing.record(signed, "pitch.waitlisted", by=act.by, reason=act.reason, rank=place, round=pitch.round)
    subject = _("On the waitlist: %(title)s")
    body = _("%(person)s put it on the waitlist for %(model)s, at rank %(rank)s. %(reason)s")
    writing.tell_askers(
        signed, event, {pitch.pitcher}, subject, body, person=act.by.name, rank=place, reason=act.reason
    )
    return signed


def _require_reason(act: Act, message: str) -> None:
    if not act.reason.strip():
        raise BadTerms(message, field="reason")
