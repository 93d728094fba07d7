"""What a simulated fleet remembers over a restart, as nodes that keep their orders on disk: one SQLite file."""

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from inventory.node_agent.protocol import Order
from inventory.simulator.devices import Device

SCHEMA = """
CREATE TABLE IF NOT EXISTS slot (
    node TEXT, slot INTEGER, card INTEGER, lost INTEGER, holder TEXT, generation INTEGER, held_since REAL,
    ordered_holder TEXT, ordered_generation INTEGER, access_revision INTEGER, unix_ids TEXT, drain_ends_at REAL,
    PRIMARY KEY (node, slot)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS node (name TEXT PRIMARY KEY, port INTEGER, condition TEXT, obeys INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS habit (holder TEXT PRIMARY KEY, habit TEXT) WITHOUT ROWID;
"""


class NodeMemory(NamedTuple):
    """What outlives a restart besides the devices."""

    name: str
    port: int
    condition: str
    obeys: bool


class StateFile:
    """The open file; belongs to the thread that opened it."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path)
        # Has to outlive a killed process, which the page cache does, not a power cut.
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=OFF")
        self._connection.executescript(SCHEMA)

    def close(self) -> None:
        """Nothing is open any more."""
        self._connection.close()

    def save_devices(self, devices: Iterable[Device]) -> None:
        """These devices are remembered as they are now, all or none."""
        rows = [
            (
                device.node,
                device.slot,
                device.card,
                device.lost,
                device.holder,
                device.generation,
                device.held_since,
                device.order.holder,
                device.order.generation,
                device.order.access_revision,
                json.dumps(device.order.unix_ids),
                device.drain_ends_at,
            )
            for device in devices
        ]
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO slot VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", rows)

    def load_devices(self, slots: dict[tuple[str, int], Device]) -> None:
        """Each device of `slots` (node, slot) that is remembered is as it was; others stay as they are."""
        for node, slot, card, lost, holder, generation, held_since, *ordered in self._connection.execute(
            "SELECT * FROM slot"
        ):
            device = slots.get((node, slot))
            if device is None:
                continue
            device.sits(card)
            device.lost = bool(lost)
            device.holder, device.generation, device.held_since = holder, generation, held_since
            device.order = Order(ordered[0], ordered[1], ordered[2], tuple(json.loads(ordered[3])))
            device.drain_ends_at = ordered[4]

    def save_nodes(self, nodes: Iterable[NodeMemory]) -> None:
        """These nodes' conditions and ports are remembered."""
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO node VALUES (?,?,?,?)", nodes)

    def load_nodes(self) -> dict[str, NodeMemory]:
        """Node name -> what is remembered of it."""
        rows = self._connection.execute("SELECT name, port, condition, obeys FROM node")
        return {name: NodeMemory(name, port, condition, bool(obeys)) for name, port, condition, obeys in rows}

    def save_habit(self, holder: str, habit: str) -> None:
        """How `holder` uses its GPUs is remembered."""
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO habit VALUES (?,?)", (holder, habit))

    def load_habits(self) -> dict[str, str]:
        """Holder -> habit, for those that were ever set."""
        return dict(self._connection.execute("SELECT holder, habit FROM habit").fetchall())
