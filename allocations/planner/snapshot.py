"""What a plan is made from: every GPU with who has it and why, and the needs. Plain values, read once from the rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

Island = tuple[str, str, str]
"""Site, island, and the node where no island is known: links that nobody declared connect nothing."""


class Source(StrEnum):
    """Why a GPU may be taken for somebody, or may not. Unknown is never free: doubt makes it UNUSABLE."""

    FREE = "free"  # unassigned and, by a fresh reading, empty
    ENDED = "ended"  # its grant or its project ended
    WINDING_DOWN = "winding_down"  # its project winds down and promised it for `releases_at`
    HELD = "held"  # somebody's; `releases_at`, if set, is the end of that grant
    MOVING = "moving"  # in a move that is still open
    UNUSABLE = "unusable"  # the reason is a code in `detail`


class Unusable(StrEnum):
    """Codes for the `detail` of an UNUSABLE GPU; others pass through as they are."""

    CORDONED = "cordoned"
    LOST = "lost"
    STALE = "stale"
    GHOST = "ghost"
    UNKNOWN = "unknown"
    PROTECTED = "protected"


OUT = frozenset({Unusable.CORDONED, Unusable.LOST})
"""Not there for now: a node without them is still whole. Everything else on a node is somebody's or may be."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that can be assigned; `node_gpus` healthy ones are on its node, `holder` "" is nobody.

    `running`: processes on it, None if unknown. A card whose instances are assigned apart is not in it, they are.
    """

    gpu_id: int
    uuid: str | None
    node: str
    node_gpus: int
    island: str
    site: str
    model: str
    labels: frozenset[str]
    source: Source
    holder: str
    grant_id: int | None
    running: int | None
    seen_age_s: float
    releases_at: datetime | None
    detail: str

    @property
    def is_out(self) -> bool:
        """Whether its node is whole without it."""
        return self.source is Source.UNUSABLE and self.detail in OUT

    @property
    def where(self) -> Island:
        """What it shares fast links with."""
        return (self.site, self.island, "" if self.island else self.node)


@dataclass(frozen=True, slots=True)
class Place:
    """`gpus` that a grant has, or is getting by an open move, on one node."""

    node: str
    island: str
    site: str
    gpus: int

    @property
    def where(self) -> Island:
        """What they share fast links with."""
        return (self.site, self.island, "" if self.island else self.node)


@dataclass(frozen=True, slots=True)
class Need:
    """A promise without GPUs: `gpus` are still missing, beside those at the places in `already_on`.

    `labels` ("key=value") must all be on the node. A GPU that is promised for `starts_at` or before may be taken.
    """

    grant_id: int
    project: str
    model: str
    gpus: int
    whole_nodes: bool
    one_island: bool
    labels: frozenset[str]
    starts_at: datetime
    already_on: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The fleet at `taken_at`, as one survey and one target generation have it; the order of units means nothing.

    Raises ValueError when a GPU is named twice.
    """

    units: tuple[Unit, ...]
    generation: int
    survey_id: int | None
    taken_at: datetime

    def __post_init__(self) -> None:
        if len({unit.gpu_id for unit in self.units}) != len(self.units):
            raise ValueError("a GPU stands twice in the snapshot")


Slab = tuple[Unit, ...]
"""Units of one node that are the same in all that decides whether they may be taken, so that one stands for all."""


@dataclass(slots=True)
class Fleet:
    """A snapshot made ready for several needs: model -> node -> slabs. What one plan takes is moving for the next."""

    snapshot: Snapshot
    by_model: dict[str, dict[str, list[Slab]]] = field(init=False)
    present: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        nodes: dict[tuple[str, str], list[Unit]] = defaultdict(list)
        present: Counter[str] = Counter()
        for unit in self.snapshot.units:
            nodes[unit.model, unit.node].append(unit)
            if not unit.is_out:
                present[unit.node] += 1
        self.by_model, self.present = defaultdict(dict), present
        for (model, node), units in nodes.items():
            self.by_model[model][node] = _slabs(units)

    def node_size(self, unit: Unit) -> int:
        """How many GPUs make its node whole: those that are healthy or at least there."""
        return max(unit.node_gpus, self.present.get(unit.node, 0))

    def take(self, picked: Iterable[Unit]) -> None:
        """The picked units are in an open move from now on."""
        gone = {unit.gpu_id: unit for unit in picked}
        for model, node in {(unit.model, unit.node) for unit in gone.values()}:
            units = (unit for slab in self.by_model[model][node] for unit in slab)
            self.by_model[model][node] = _slabs(
                replace(unit, source=Source.MOVING) if unit.gpu_id in gone else unit for unit in units
            )


def _slabs(units: Iterable[Unit]) -> list[Slab]:
    alike: dict[tuple[object, ...], list[Unit]] = {}
    for unit in units:
        facts = (unit.source, unit.holder, unit.grant_id, unit.detail, unit.releases_at, unit.labels)
        alike.setdefault(facts, []).append(unit)
    return [tuple(slab) for slab in alike.values()]
