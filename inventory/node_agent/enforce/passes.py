"""What one pass over the node found: never changed afterwards, so that a look at it waits for nobody."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from inventory.node_agent.enforce.access_lists import AccessList
from inventory.node_agent.enforce.devices import Unit
from inventory.node_agent.enforce.drains import Drain
from inventory.node_agent.enforce.orders_kept import Kept
from inventory.node_agent.protocol import Fault, Mode


@dataclass(frozen=True, slots=True)
class Proof:
    """Who was let in by a node with this list; `wrong` "" if exactly those who ought to be. Holds while both stay."""

    inode: tuple[int, int]
    access: AccessList
    wrong: str


@dataclass(frozen=True, slots=True)
class Pass:
    """Unit uuid -> its orders, devices, drain, faults ("": the node's); device -> the users wanted there, the proof."""

    mode: Mode
    kept: Mapping[str, Kept] = field(default_factory=dict)
    units: Mapping[str, Unit] = field(default_factory=dict)
    wanted: Mapping[Path, frozenset[int]] = field(default_factory=dict)
    drains: Mapping[str, Drain] = field(default_factory=dict)
    proofs: Mapping[Path, Proof] = field(default_factory=dict)
    faults: Mapping[str, tuple[Fault, ...]] = field(default_factory=dict)
