"""The pitch that another one follows: how it was decided, by whom and why, and what the new one says otherwise."""

from dataclasses import dataclass
from typing import Any

from allocations import asks, queries
from allocations.models import Person, Pitch, SignOff
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
