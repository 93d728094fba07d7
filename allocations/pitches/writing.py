"""What every answer writes: the sign-off, its event, the decision; and notices that leave once it stands for good."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import grants, queries
from allocations.models import Person, Pitch, SignOff
from allocations.notify import page, settle, tell
from allocations.pitches import waitlist
from inventory import trail
from inventory.models import Event

# What an answer may change and its undo brings back.
STANDING = ("state", "round", "offered_gpus", "offered_start_on", "offered_days", "waitlist_rank")


class Act(NamedTuple):
    """Somebody answers: to which locked pitch, in which mandate, how, and how the pitch stood before."""

    pitch: Pitch
    by: Person
    mandate: queries.Mandate
    verdict: str
    reason: str
    before: dict[str, Any]


def standing_of(pitch: Pitch) -> dict[str, Any]:
    """How the pitch stands, for the trail and for an undo."""
    model = pitch.offered_model
    return {name: getattr(pitch, name) for name in STANDING} | {"offered_model": model and model.name}


def write_sign_off(act: Act) -> tuple[SignOff, Event]:
    """The answer stands, under the terms on the table; with its event."""
    pitch, terms = act.pitch, act.pitch.terms
    signed = SignOff.objects.create(
        pitch=pitch, round=pitch.round, role=act.mandate.role, person=act.by, deputy_for=act.mandate.deputy_for,
        verdict=act.verdict, reason=act.reason.strip(), at=timezone.now(), **terms._asdict(),
    )  # fmt: skip
    queries.note_sign_off(pitch, signed)
    event = record(
        signed, "sign_off.given", by=act.by, reason=act.reason, role=act.mandate.role.slug, verdict=act.verdict,
        round=pitch.round, before=act.before, before_gpus=act.before["offered_gpus"], gpus=terms.gpus,
        model=terms.model.name, start_on=terms.start_on, days=terms.days, **act.mandate.said,
    )  # fmt: skip
    return signed, event


def record(signed: SignOff, verb: str, *, by: object, reason: str = "", **facts: Any) -> Event:
    """An event of the pitch that came with the sign-off: `facts["sign_off"]` says so, for its undo."""
    return trail.record(verb, signed.pitch, by=by, reason=reason, sign_off=signed.pk, **facts)


def leaves_at(signed: SignOff) -> datetime:
    """Until then nothing about the answer has left the building."""
    return signed.at + timedelta(seconds=settings.UNDO_S)


def decide(act: Act, signed: SignOff, state: Pitch.State) -> None:
    """The pitch is granted or declined by the answer, and those who asked hear of it."""
    pitch = act.pitch
    settle(page("queue", pitch.public_id), at=signed.at)
    waitlist.close_gap(pitch)
    Pitch.objects.advance(pitch, state, decided_at=timezone.now(), decided_by=act.by, waitlist_rank=None)
    event = record(
        signed, f"pitch.{state.value}", by=act.by, reason=act.reason, project=pitch.project.slug,
        asked_gpus=pitch.ideal_gpus, gpus=pitch.offered_gpus, round=pitch.round,
    )  # fmt: skip
    if state == Pitch.State.GRANTED:
        subject, body = _("Granted: %(title)s"), _("%(person)s signed last: %(gpus)s %(model)s for %(project)s.")
    else:
        subject, body = _("Declined: %(title)s"), _("%(person)s declined it: %(reason)s")
    tell_askers(signed, event, {pitch.pitcher}, subject, body, person=act.by.name, reason=act.reason)


def tell_askers(
    signed: SignOff, event: Event, people: Iterable[Person], subject: str, body: str, **words: object
) -> None:
    """People of the project hear what the answer came to, once it cannot be undone any more."""
    pitch, terms = signed.pitch, signed.pitch.terms
    words |= {
        "title": pitch.title, "project": pitch.project.name, "gpus": terms.gpus, "model": terms.model.name,
        "days": terms.days, "start_on": grants.spoken(terms.start_on),
    }  # fmt: skip
    path = page("pitches", pitch.public_id)
    tell(event, people, subject % words, body % words, path, not_before=leaves_at(signed))
