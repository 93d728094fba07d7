"""What came before a pitch: the one that it follows, or what it said itself before a round of changes."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from django import forms

from allocations import asks, queries
from allocations import pitches as decisions
from allocations.models import Person, Pitch, PitchRevision, SignOff
from portal.forms import PitchForm


@dataclass(frozen=True)
class Change:
    """A field that says something else now; texts are told as rewritten, with both."""

    label: Any
    before: Any
    after: Any


@dataclass(frozen=True)
class Earlier:
    """The pitch that was tried before; `decline` is None where its own people withdrew it."""

    pitch: Pitch
    decline: SignOff | None
    changes: list[Change]


def earlier_of(pitch: Pitch, person: Person) -> Earlier | None:
    """What the pitch follows, as far as the person sees it; None where it follows nothing."""
    if pitch.resubmits_id is None:
        return None
    before = queries.pitches_visible_to(person).filter(pk=pitch.resubmits_id).first()
    if before is None:
        return None
    declines = before.sign_offs.filter(verdict=SignOff.Verdict.DECLINE).select_related("person", "role")
    changed = asks.changes_between(before, pitch)
    changes = [Change(PitchForm.label_of(name), *pair) for name, pair in changed.items()]
    return Earlier(before, declines.first(), changes)


@dataclass(frozen=True)
class Revised:
    """What a pitch said before its last round of changes, who asked for them and why, and what it says otherwise."""

    revision: PitchRevision
    asked: SignOff | None
    changes: list[Change]


def revised_of(pitch: Pitch) -> Revised | None:
    """The pitch's last round of changes; None where nobody has asked for any."""
    if pitch.round == 1 and pitch.state != Pitch.State.CHANGES:
        return None
    revision = pitch.revisions.order_by("-pk").first()
    if revision is None:
        return None
    given = (each for each in pitch.sign_offs.all() if each.round == revision.round)
    asked = next((each for each in given if each.verdict == SignOff.Verdict.CHANGES), None)
    changed = decisions.changed_since(revision, pitch)
    changes = [
        Change(PitchForm.label_of(name), _read(name, before), _read(name, after))
        for name, (before, after) in changed.items()
    ]
    return Revised(revision, asked, changes)


def _read(name: str, text: str) -> Any:
    """The text of a field as a value again where pages have a way to write it."""
    if isinstance(PitchForm.base_fields.get(name), forms.BooleanField):
        return text == str(True)
    is_day = isinstance(PitchForm.base_fields.get(name), forms.DateField)
    return date.fromisoformat(text) if is_day and text else text
