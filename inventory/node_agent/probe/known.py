"""What the probe knows of its node: a row a unit, what is wrong with each and with the node, and since when."""

import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from inventory.node_agent.probe.bus import slot_of
from inventory.node_agent.probe.rows import Row
from inventory.node_agent.probe.suspects import EVENTS, Suspicion
from inventory.node_agent.probe.xids import Xids
from inventory.node_agent.protocol import Fault
from inventory.node_agent.protocol.fields import LONGEST_TEXT
from inventory.node_agent.seen import NodeSeen

NODE = ""


class Known:
    """Written by the probe's rounds; `seen` only reads."""

    def __init__(self, xids: Xids, proc: Path) -> None:
        self.rows: dict[str, Row] = {}
        self.driver = ""
        self.cards_on_bus: tuple[str, ...] | None = None
        self._xids = xids
        self._proc = proc
        self._memory_mib = _memory_mib(proc)
        self._since_s: dict[tuple[str, str], float] = {}
        self._faults: dict[str, tuple[Fault, ...]] = {
            NODE: (Fault("not_looked_yet", "the agent has just started", time.time()),)
        }

    def unit(self, unit: dict[str, Any]) -> Row:
        """The unit's row says what the child said."""
        row = self.rows.setdefault(unit["uuid"], Row(unit["uuid"], unit["index"]))
        row.read(unit)
        return row

    def fail(self, said: dict[str, Any]) -> bool:
        """A card that cannot be opened has a row all the same, if ever anybody knew it; whether it has."""
        index, bus = said["index"], said["bus"]
        slot = slot_of(self._proc, bus) if bus else None
        if slot is not None and slot.uuid not in self.rows:
            self.rows[slot.uuid] = Row(slot.uuid, index, bus, model=slot.model, minor=slot.minor)
        rows = [row for row in self.rows.values() if (row.bus == bus if bus else row.index == index)]
        for row in rows:
            row.fail(said["code"], said["reason"], said["call"], time.monotonic())
        return bool(rows)

    def keep(self, uuids: set[str], indices: set[int]) -> None:
        """Units that the driver does not show any more are gone; those at `indices` were not asked."""
        self.rows = {uuid: row for uuid, row in self.rows.items() if uuid in uuids or row.index in indices}

    def pids(self) -> set[int]:
        """All pids that any card lists."""
        return {process.pid for row in self.rows.values() for process in row.processes or ()}

    def all_failing(self) -> bool:
        """There are cards, and none of them tells anything."""
        return bool(self.rows) and all(row.failing for row in self.rows.values())

    def settle(self, node: Iterable[tuple[str, str]], suspicions: dict[int, Suspicion]) -> None:
        """What is wrong now stands, each with the first time it was seen without a break."""
        now_s = time.time()
        found: dict[str, list[tuple[str, str]]] = {NODE: list(node)}
        known_at = {row.index for row in self.rows.values()}
        for index in suspicions.keys() - known_at:
            code, detail = suspicions[index].code, suspicions[index].detail
            of_events = ("events_hung", f"Xids are not seen: {detail}")
            found[NODE].append(of_events if index == EVENTS else (f"card_{code}", f"card {index}: {detail}"))
        for uuid, row in self.rows.items():
            against = suspicions.get(row.index)
            found[uuid] = row.found() + ([(against.code, against.detail)] if against else [])
        self._date(found, now_s)
        self._faults = {uuid: self._as_faults(uuid, said, now_s) for uuid, said in found.items()}

    def seen(self) -> NodeSeen:
        """The newest values with their ages as of this call."""
        now_s = time.monotonic()
        rows = sorted(self.rows.values(), key=lambda row: (row.index, row.kind, row.uuid))
        on_bus = self.cards_on_bus
        return NodeSeen(
            tuple(row.seen(now_s, self._faults.get(row.uuid, ()), self._memory_mib) for row in rows),
            self.driver,
            None if on_bus is None else len(on_bus),
            self._faults[NODE],
            {row.uuid: row.ids for row in rows if row.ids is not None},
            {row.uuid: now_s - row.listed_s for row in rows},
        )

    def _date(self, found: dict[str, list[tuple[str, str]]], now_s: float) -> None:
        keys = {(uuid, code) for uuid, said in found.items() for code, _ in said}
        self._since_s = {key: self._since_s.get(key, now_s) for key in keys}

    def _as_faults(self, uuid: str, said: list[tuple[str, str]], now_s: float) -> tuple[Fault, ...]:
        """One fault a code: its details stand in one text."""
        details: dict[str, list[str]] = {}
        for code, detail in said:
            details.setdefault(code, []).append(detail)
        faults = [Fault(code, _line("; ".join(texts)), self._since_s[uuid, code]) for code, texts in details.items()]
        if thrown := list(self._xids.of(uuid, now_s)):
            text = "; ".join(f"Xid {xid}, last {_clock(last_s)}" for xid, _, last_s in thrown)
            faults.append(Fault("xid", _line(text), min(first_s for _, first_s, _ in thrown)))
        return tuple(faults)


def _clock(at_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at_s))


def _line(text: str) -> str:
    """As the wire takes it: one printable line."""
    return re.sub(r"\s+", " ", "".join(sign if sign.isprintable() else " " for sign in text)).strip()[:LONGEST_TEXT]


def _memory_mib(proc: Path) -> int | None:
    """The machine's own memory."""
    try:
        found = re.search(r"^MemTotal:\s+(\d+) kB", (proc / "meminfo").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) // 1024 if found else None
