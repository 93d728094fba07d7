"""Who is on the GPUs, who of them is told to end, and which drains have ended."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from inventory.node_agent.enforce.devices import Unit
from inventory.node_agent.enforce.drains import Drain, drain_of, may_hold
from inventory.node_agent.enforce.eviction import Evictions
from inventory.node_agent.enforce.holders import Found, Holder, find_holders, look_at, started_at_s
from inventory.node_agent.enforce.layout import Layout, Policy
from inventory.node_agent.enforce.orders_kept import Kept
from inventory.node_agent.protocol import ProcessSeen
from inventory.node_agent.seen import NodeSeen

NOBODY_FOUND = Found({}, True)
# Boot time and process start are each rounded to a hundredth of a second, and the clock may be set between two looks.
SAME_START_S = 3.0


@dataclass(frozen=True, slots=True)
class Watch:
    """The node as one pass found it. `looks_at_devices`: whether open descriptors count, or NVML's list alone.

    `ordered_ago_s`: GPU uuid -> seconds since its newest order came.
    """

    layout: Layout
    policy: Policy
    seen: NodeSeen
    units: Mapping[str, Unit]
    looks_at_devices: bool
    ordered_ago_s: Mapping[str, float]

    def find(self, *, thorough: bool = False) -> Found:
        """Who has the devices of any unit open now; nobody where descriptors do not count."""
        nodes = [node for unit in self.units.values() for node in unit.nodes]
        return find_holders(self.layout.proc, nodes, thorough=thorough) if self.looks_at_devices else NOBODY_FOUND

    def drain(self, uuid: str, kept: Kept, all_kept: Mapping[str, Kept], found: Found) -> Drain:
        """What stands between the order and the GPU, by `found`."""
        unit, listed = self.units.get(uuid), self.listed(uuid)
        if unit is not None and unit.is_divided:
            # NVML lists its instances' processes on the card as well.
            listed = ()
        is_mapped = not self.looks_at_devices or (unit is not None and not unit.problem)
        drain = drain_of(
            kept,
            (*self.open_by(uuid, found), *self._listed_holders(listed or ())),
            listed,
            works_elsewhere=self._works_elsewhere(uuid, all_kept),
            service_uids=self.policy.service_uids,
            is_whole=found.is_whole and is_mapped,
            waits_for_works_elsewhere=self.policy.waits_for_works_elsewhere,
        )
        return replace(drain, is_recent=self._is_recent(uuid, unit))

    def _is_recent(self, uuid: str, unit: Unit | None) -> bool:
        """NVML's list is up to half a minute old, and all there is where descriptors say nothing: without enforcement,
        and of a MIG instance, whose capability devices need not stay open.
        """
        if self.looks_at_devices and unit is not None and not unit.shared:
            return True
        return self.seen.listed_age_s.get(uuid, 0.0) <= self.ordered_ago_s[uuid]

    def listed(self, uuid: str) -> tuple[ProcessSeen, ...] | None:
        """NVML's processes on the unit, None where that is unknown."""
        return next((gpu.processes for gpu in self.seen.gpus if gpu.uuid == uuid), None)

    def open_by(self, uuid: str, found: Found) -> list[Holder]:
        """Who has the unit's own devices open. Those of a card in MIG instances have it open for their instance."""
        unit = self.units.get(uuid)
        if unit is None or unit.is_divided:
            return []
        return [holder for node in unit.nodes for holder in found.by_key.get(node.key, ())]

    def _listed_holders(self, listed: Iterable[ProcessSeen]) -> list[Holder]:
        holders = []
        for process in listed if self.looks_at_devices else ():
            now = look_at(self.layout.proc, process.pid)
            if now is not None and now.uid == process.uid:
                started_s = started_at_s(self.layout.proc, now)
                if abs(started_s - process.started_at_s) < SAME_START_S:
                    holders.append(now)
        return holders

    def _works_elsewhere(self, uuid: str, all_kept: Mapping[str, Kept]) -> frozenset[int]:
        return frozenset(
            process.pid
            for gpu in self.seen.gpus
            for process in gpu.processes or ()
            if gpu.uuid != uuid and gpu.uuid in all_kept and process.uid is not None
            if may_hold(all_kept[gpu.uuid], process.uid, self.policy.service_uids)
        )


def press_on(
    drains: Mapping[str, Drain], kept: Mapping[str, Kept], evictions: Evictions, *, now_s: float, steady_s: float
) -> None:
    """Processes without a right are told to end where their GPU's order carries authority that is valid at `now_s`."""
    evictions.forget_all_but(holder for drain in drains.values() for holder in drain.to_end)
    for uuid, drain in drains.items():
        if _may_evict(kept[uuid], now_s):
            for holder in drain.to_end:
                evictions.press(holder, steady_s)


def is_quiet(kept: Mapping[str, Kept], now_s: float) -> bool:
    """Whether nobody has to leave any GPU, so that who has it open is only to know."""
    return not any(order.is_switch or _may_evict(order, now_s) for order in kept.values())


def _may_evict(kept: Kept, now_s: float) -> bool:
    eviction = kept.order.eviction
    return eviction is not None and eviction.until.timestamp() > now_s


def drains_of(watch: Watch, kept: Mapping[str, Kept], found: Found) -> dict[str, Drain]:
    """Unit uuid -> its drain. One that seems to be over was looked at twice, the second time thoroughly."""
    drains = {uuid: watch.drain(uuid, order, kept, found) for uuid, order in kept.items()}
    over = [uuid for uuid, drain in drains.items() if kept[uuid].is_switch and drain.has_ended]
    if over:
        # A process that forks while it is looked for may be missed once.
        found = watch.find(thorough=True)
        drains |= {uuid: watch.drain(uuid, kept[uuid], kept, found) for uuid in over}
    return drains
