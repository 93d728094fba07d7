"""What is wrong with a unit, in the wire's words, and since when."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from inventory.node_agent.enforce.devices import Unit
from inventory.node_agent.enforce.drains import Drain
from inventory.node_agent.enforce.eviction import UNKILLABLE_AFTER_S, Evictions
from inventory.node_agent.enforce.holders import ROOT, Holder
from inventory.node_agent.enforce.orders_kept import Kept
from inventory.node_agent.protocol import Fault, ProcessSeen
from inventory.node_agent.protocol.fields import LONGEST_TEXT


class Since:
    """When each fault was first seen; one that is not seen again is forgotten."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._first: dict[tuple[str, str], float] = {}
        self._stuck: dict[tuple[str, int], float] = {}

    def dated(self, seen: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, tuple[Fault, ...]]:
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


def has_ended(process: ProcessSeen, now: Holder | None) -> bool:
    """Whether a process that NVML lists cannot end any more by itself: a zombie, or gone."""
    return process.zombie or now is None or now.state == "Z"


def of_unit(
    unit: Unit | None,
    kept: Kept | None,
    drain: Drain | None,
    evictions: Evictions,
    dead: Sequence[int],
    steady_s: float,
) -> Iterator[tuple[str, str]]:
    """The (code, evidence) of one unit, apart from its access lists. `dead`: pids of `Since.lasting`."""
    if unit is not None and unit.problem:
        yield "device_unknown", unit.problem
    if kept is None or drain is None:
        return
    if kept.is_torn:
        yield "order_unreadable", "its file is damaged; nobody gets in until the portal sends the order again"
    stuck = [str(holder) for holder in drain.to_end if evictions.is_unkillable(holder, steady_s)]
    stuck += [f"pid {pid}, which has ended" for pid in dead]
    if stuck:
        yield "unkillable_process", f"{', '.join(stuck)}: reset the GPU or reboot the node"
    if drain.elsewhere:
        named = ", ".join(map(str, drain.elsewhere))
        yield "works_elsewhere", f"{named} works on another GPU by right and has this one open"
    if kept.is_switch:
        if not drain.is_known:
            yield "processes_unknown", "who is on it cannot be found out, so that its drain cannot end"
    elif drain.to_end:
        yield "foreign_descriptor", ", ".join(f"{holder} has it open without a right" for holder in drain.to_end)


def root_on_it(listed: Sequence[ProcessSeen] | None, service_uids: frozenset[int]) -> Iterator[tuple[str, str]]:
    """Root's programs on a GPU that drains: nobody but an operator ends those."""
    pids = [str(process.pid) for process in listed or () if process.uid == ROOT and ROOT not in service_uids]
    if pids:
        yield "root_process", f"pid {', '.join(pids)} of root works on it; end it by hand"
