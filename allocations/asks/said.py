"""What a pitch says, as a mark that two tabs compare, as words for people, and as the difference of two pitches."""

import hashlib
import json
from collections.abc import Mapping

from allocations.asks.details import details_of
from allocations.models import Pitch

VERSION_DIGITS = 16  # hex; no two versions of one draft share 64 bits by chance
SAID = (
    "project_id", "title", "why", "expected_result", "check_on", "if_declined", "model_id", "ideal_gpus", "min_gpus",
    "whole_nodes", "one_island", "required_labels", "start_on", "start_until", "days",
)  # fmt: skip


def version_of(pitch: Pitch) -> str:
    """What the draft says, as a mark: two tabs that show the same mark show the same draft."""
    said: list[object] = [_plain(getattr(pitch, name)) for name in SAID]
    said += details_of(pitch).said.values()
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:VERSION_DIGITS]


def said_by(pitch: Pitch) -> dict[str, str]:
    """Field of the ask -> what the pitch says there, as people read it; "" for nothing."""
    columns = {name: _plain(value) for name, value in _columns(pitch).items()}
    return columns | details_of(pitch).said


def changes_between(earlier: Pitch, later: Pitch) -> dict[str, tuple[object, object]]:
    """Field of the ask -> what the earlier pitch said and what the later one says, where they differ."""
    before: dict[str, object] = _columns(earlier) | details_of(earlier).said
    after: dict[str, object] = _columns(later) | details_of(later).said
    said = {name: (before[name], after[name]) for name in after}
    return {name: pair for name, pair in said.items() if pair[0] != pair[1]}


def _columns(pitch: Pitch) -> dict[str, object]:
    columns = {name: getattr(pitch, name) for name in (each.removesuffix("_id") for each in SAID)}
    return columns | {"required_labels": _plain(pitch.required_labels)}


def _plain(value: object) -> str:
    if isinstance(value, Mapping):  # the database keeps its own order of keys
        return ", ".join(f"{key}={value[key]}" for key in sorted(value))
    return "" if value is None else str(value)
