"""A round of changes: what the pitch said when they were asked for, and what it says otherwise when it comes back."""

from django.utils import timezone

from allocations import asks
from allocations.models import Person, Pitch, PitchRevision


def keep_revision(pitch: Pitch, *, by: Person) -> PitchRevision:
    """What the pitch says in this round is kept; its own words may change from here on."""
    said = asks.said_by(pitch)
    return PitchRevision.objects.create(pitch=pitch, round=pitch.round, said=said, by=by, at=timezone.now())


def changed_since(revision: PitchRevision, pitch: Pitch) -> dict[str, tuple[str, str]]:
    """Field of the ask -> what it said and what it says, as people read it, where they differ."""
    now = asks.said_by(pitch)
    said = {name: (before, now[name]) for name, before in revision.said.items() if name in now}
    return {name: pair for name, pair in said.items() if pair[0] != pair[1]}
