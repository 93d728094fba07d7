"""What is wrong with a unit, in the wire's words, and since when."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from inventory.node_agent.enforce.doctor import own_capability_check, parameter_checks
from inventory.node_agent.enforce.draining import Watch
from inventory.node_agent.enforce.drains import Drain
from inventory.node_agent.enforce.eviction import UNKILLABLE_AFTER_S, Evictions
from inventory.node_agent.enforce.holders import ROOT, look_at
from inventory.node_agent.enforce.layout import Layout
from inventory.node_agent.enforce.orders_kept import Kept
from inventory.node_agent.protocol import Fault
from inventory.node_agent.protocol.fields import LONGEST_TEXT

# A code of the wire, and the evidence.
Finding = tuple[str, str]


class Since:
    """When each fault was first seen; one that is not seen again is forgotten."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._first: dict[tuple[str, str], float] = {}
        self._stuck: dict[tuple[str, int], float] = {}

    def dated(self, seen: Mapping[str, Sequence[Finding]]) -> dict[str, tuple[Fault, ...]]:
        """Unit -> its (code, evidence) as faults that are as old as they are."""
        now = self._clock()
        names = {(uuid, code) for uuid, found in seen.items() for code, _detail in found}
        self._first = {name: self._first.get(name, now) for name in names}
        return {
            uuid: tuple(Fault(code, detail[:LONGEST_TEXT], self._first[uuid, code]) for code, detail in found)
            for uuid, found in seen.items()
        }

    def lasting(self, ended: Mapping[str, Sequence[int]], steady_s: float) -> dict[str, list[int]]:
        """Unit -> pids that have ended, or are zombies, and still hold it long after."""
        names = {(uuid, pid) for uuid, pids in ended.items() for pid in pids}
        self._stuck = {name: self._stuck.get(name, steady_s) for name in names}
        return {
            uuid: [pid for pid in pids if steady_s - self._stuck[uuid, pid] >= UNKILLABLE_AFTER_S]
            for uuid, pids in ended.items()
        }


def dead_pids(watch: Watch, drains: Mapping[str, Drain]) -> dict[str, list[int]]:
    """Unit uuid -> pids that NVML lists and a drain waits for, of processes that are zombies or gone."""
    return {
        uuid: [
            process.pid
            for process in watch.listed(uuid) or ()
            if process.pid in drain.waiting and (process.zombie or not _lives(watch.layout.proc, process.pid))
        ]
        for uuid, drain in drains.items()
    }


def _lives(proc: Path, pid: int) -> bool:
    now = look_at(proc, pid)
    return now is not None and now.state != "Z"


def stuck(drain: Drain | None, evictions: Evictions, dead: Sequence[int], steady_s: float) -> Iterator[Finding]:
    """Processes that nothing ends: the GPU is an operator's. `dead`: pids of `Since.lasting`."""
    holders = drain.to_end if drain else ()
    named = [str(holder) for holder in holders if evictions.is_unkillable(holder, steady_s)]
    named += [f"pid {pid}, which has ended" for pid in dead]
    if named:
        yield "unkillable_process", f"{', '.join(named)}: reset the GPU or reboot the node"


def of_unit(uuid: str, watch: Watch, kept: Kept | None, drain: Drain | None) -> Iterator[Finding]:
    """What else is wrong with a unit, apart from its access lists."""
    unit = watch.units.get(uuid)
    if unit is not None and unit.problem and watch.looks_at_devices:
        yield "device_unknown", unit.problem
    if kept is None or drain is None:
        return
    if kept.is_torn:
        yield "order_unreadable", "its file is damaged; nobody gets in until the portal sends the order again"
    if drain.elsewhere:
        named = ", ".join(map(str, drain.elsewhere))
        yield "works_elsewhere", f"{named} works on another GPU by right and has this one open"
    if kept.is_switch:
        yield from _of_drain(watch, uuid, drain)
    elif drain.to_end:
        yield "foreign_descriptor", ", ".join(f"{holder} has it open without a right" for holder in drain.to_end)


def _of_drain(watch: Watch, uuid: str, drain: Drain) -> Iterator[Finding]:
    if not drain.is_known:
        yield "processes_unknown", "who is on it cannot be found out, so that its drain cannot end"
    listed = [process for process in watch.listed(uuid) or () if process.pid in drain.waiting]
    pids = [str(process.pid) for process in listed if process.uid == ROOT]
    if pids:
        yield "root_process", f"pid {', '.join(pids)} of root works on it; end it by hand"


def of_node(layout: Layout, unwritable: str, *, enforces: bool) -> Iterator[Finding]:
    """What is wrong with enforcement as a whole."""
    if unwritable:
        yield "state_unwritable", f"orders cannot be kept: {unwritable}"
    checks = [*parameter_checks(layout), own_capability_check(layout.proc)] if enforces else []
    for check in checks:
        if not check.passed:
            yield "not_ready", f"{check.name}: {check.found}. {check.remedy}"
