"""The why of a plan as plain data: codes and numbers that a page translates, never sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from .snapshot import Source


class Because(StrEnum):
    """Why a GPU is taken, in the order in which they are preferred."""

    OWN_ENDED = "own_ended"  # an ended grant of the same project left it there: nothing moves
    FREE = "free"
    GRANT_ENDED = "grant_ended"
    WINDING_DOWN = "winding_down"


class Skipped(StrEnum):
    """Why a GPU is not taken; the `detail` of an unusable one (`Unusable`) stands in the same place."""

    OTHER_MODEL = "other_model"
    OTHER_LABELS = "other_labels"
    ALREADY_YOURS = "already_yours"
    HELD = "held"
    MOVING = "moving"
    NOT_YET_RELEASED = "not_yet_released"
    NODE_FRAGMENT = "node_fragment"
    OTHER_ISLAND = "other_island"
    NOT_NEEDED = "not_needed"
    DOES_NOT_FIT = "does_not_fit"  # the plan is short, and this would make it too large
    UNUSABLE = "unusable"


class Short(StrEnum):
    """Why not all that is missing was found."""

    NOT_ENOUGH = "not_enough"  # too few may be taken, whatever their shape
    UNEVEN_SIZE = "uneven_size"  # no sum of whole nodes, held ones included, is that number
    NO_WHOLE_NODES = "no_whole_nodes"
    NO_SINGLE_ISLAND = "no_single_island"
    NO_SUCH_SHAPE = "no_such_shape"  # neither rule alone is to blame
    ALREADY_SPREAD = "already_spread"  # the grant lies on several islands, so no GPU more puts it on one


class Helps(StrEnum):
    """What would help, with `gpus` that could be had then (of those missing)."""

    ASK_FOR = "ask_for"
    WITHOUT_WHOLE_NODES = "without_whole_nodes"
    WITHOUT_ONE_ISLAND = "without_one_island"
    WAIT = "wait"  # until `at`: all of it, if everybody releases as promised
    FIRST_RELEASE = "first_release"  # at `at`: more, but never all


@dataclass(frozen=True, slots=True)
class Taken:
    """What one donor gives for one reason. `running_gpus`: with processes, or nobody knows; `grants` ascend.

    `oldest_seen_s` is the age of the oldest reading that this rests on; `releases_at` the last promised date.
    """

    source: Source
    holder: str
    code: Because
    gpus: int
    running_gpus: int
    nodes: int
    grants: tuple[int, ...]
    oldest_seen_s: float
    releases_at: datetime | None


@dataclass(frozen=True, slots=True)
class Shape:
    """What the plan looks like. `broken_nodes` were whole and are taken in part; `new_islands` are new to the grant.

    `fewest_donors`: it is proven that no plan of this size and preference has fewer.
    """

    islands: int
    new_islands: int
    nodes: int
    broken_nodes: int
    donors: int
    running_gpus: int
    fewest_donors: bool


@dataclass(frozen=True, slots=True)
class Help:
    """One thing that would help."""

    code: Helps
    gpus: int
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Shortfall:
    """`gpus` are still missing after the plan. `node_sizes` and the next sums stand there for UNEVEN_SIZE only.

    What helps is said for the need without this plan: once a part is committed, one island means the island of it.
    """

    code: Short
    gpus: int
    helps: tuple[Help, ...]
    node_sizes: tuple[int, ...] = ()
    next_lower_gpus: int | None = None
    next_higher_gpus: int | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """What was taken from whom, what was left and why (code -> GPUs; with the taken ones: all), and what is short."""

    asked_gpus: int
    taken: tuple[Taken, ...]
    skipped: Mapping[str, int]
    shape: Shape
    shortfall: Shortfall | None

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON: plain dicts and lists, instants as ISO 8601 in UTC."""
        plain = asdict(self)
        plain["skipped"] = dict(sorted(self.skipped.items()))
        return {key: _plain(value) for key, value in plain.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
