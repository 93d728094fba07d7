"""A decision becomes true on this node: devices open for their holder only, and what says so is read back."""

import grp
import pwd
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from inventory.node_agent.enforce import doctor, faults
from inventory.node_agent.enforce.devices import nodes_of_nobody, units
from inventory.node_agent.enforce.doctor import Check
from inventory.node_agent.enforce.draining import NOBODY_FOUND, Watch, drains_of, is_quiet, press_on
from inventory.node_agent.enforce.drains import Drain
from inventory.node_agent.enforce.errors import Refused
from inventory.node_agent.enforce.eviction import Evictions
from inventory.node_agent.enforce.faults import Finding
from inventory.node_agent.enforce.holders import Found
from inventory.node_agent.enforce.layout import Layout, Policy, Step
from inventory.node_agent.enforce.looking import completed
from inventory.node_agent.enforce.opening import Devices, wanted_users
from inventory.node_agent.enforce.orders_kept import Kept, OrdersKept, accepted
from inventory.node_agent.enforce.passes import Pass
from inventory.node_agent.protocol import Applied, Fault, GpuSeen, Mode, Order
from inventory.node_agent.protocol.values import AppliedState
from inventory.node_agent.seen import NodeSeen

# Going through all open files of a node with 2,000 processes takes 0.3 s of CPU.
FIND_EVERY_S = 60


class Enforcer:
    """Keeps the portal's orders, and the devices as they want them. Its calls may come from several threads.

    `clock` is Unix time, for the authority to evict; `steady` never goes back, for the grace. `on_step` is called
    between any two effects; tests end the agent there.
    """

    def __init__(
        self,
        layout: Layout,
        policy: Policy,
        *,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
        on_step: Callable[[Step], None] = lambda step: None,
    ) -> None:
        self._layout, self._policy = layout, policy
        self._clock, self._steady, self._on_step = clock, steady, on_step
        self._lock = threading.RLock()
        self._store = OrdersKept(layout.state, on_step)
        self._kept: dict[str, Kept] = self._store.load()
        self._mode: Mode = "observe" if policy.observe_only else self._store.load_mode()
        self._devices = Devices(layout, steady)
        self._evictions = Evictions(layout.proc, policy.grace_s, on_step)
        # What was ordered before this start counts from here.
        self._ordered_at_s = dict.fromkeys(self._kept, steady())
        self._unwritable = ""
        self._found: tuple[object, float, Found] = None, 0.0, NOBODY_FOUND
        self._since = faults.Since(clock)
        self._last = Pass(self._mode, self._kept)

    @property
    def mode(self) -> Mode:
        """How the node works now."""
        return self._mode

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is wrong with enforcement on the whole node, as of the last pass."""
        return self._last.faults.get("", ())

    def ensure(self, uuid: str, order: Order, seen: NodeSeen) -> Applied:
        """The order is safe on disk, and acted on as far as running processes let it. A repeat does no harm.

        Raises Refused.
        """
        if self._policy.observe_only:
            raise Refused("observes_only", "this node's own configuration says observe only")
        with self._lock:
            self._check_gpu(uuid, seen)
            known = self._kept.get(uuid)
            kept = accepted(known, order)
            if kept != known:
                try:
                    self._keep(uuid, kept)
                except OSError as error:
                    raise Refused("not_ready", f"orders cannot be kept: {error.strerror}") from error
            self.reconcile(seen)
            return self._applied(uuid)

    def reconcile(self, seen: NodeSeen) -> None:
        """One pass: access lists as ordered, processes without a right told to end, drains that are over ended."""
        with self._lock:
            self._unwritable = ""
            self._last = self._enforced(seen) if self._mode == "enforce" else self._followed(seen)

    def look(self, seen: NodeSeen) -> tuple[GpuSeen, ...]:
        """The probe's GPUs with whose they are. Waits for no pass that is under way."""
        last, now_s = self._last, self._clock()
        return tuple(
            completed(gpu, last, self._policy.service_uids, observe_only=self._policy.observe_only, now_s=now_s)
            for gpu in seen.gpus
        )

    def set_mode(self, mode: Mode, seen: NodeSeen) -> None:
        """The node works in `mode` from now on, also after a restart. Raises Refused.

        Leaving enforcement leaves every access list as it stands: a node that is closed stays closed.
        """
        if self._policy.observe_only and mode != "observe":
            raise Refused("observes_only", "this node's own configuration says observe only")
        with self._lock:
            if mode == self._mode:
                return
            if mode == "enforce":
                self._devices.hold_capabilities()
                lacking = [f"{check.name}: {check.found}" for check in self.findings(seen) if not check.passed]
                if lacking:
                    raise Refused("not_ready", "; ".join(lacking))
            try:
                self._store.keep_mode(mode)
            except OSError as error:
                raise Refused("not_ready", f"the mode cannot be kept: {error.strerror}") from error
            self._mode = mode
            self.reconcile(seen)

    def findings(self, seen: NodeSeen) -> list[Check]:
        """All that enforcement needs on this node, what was found, and what to do about it. May ask a directory."""
        found = units(seen, self._layout).values()
        return [
            *doctor.parameter_checks(self._layout),
            *doctor.device_checks(found),
            *doctor.capability_device_checks(found, self._layout),
            doctor.group_check(grp.getgrall(), pwd.getpwall()),
            doctor.own_capability_check(self._layout.proc),
        ]

    def _check_gpu(self, uuid: str, seen: NodeSeen) -> None:
        gpu = next((gpu for gpu in seen.gpus if gpu.uuid == uuid), None)
        if gpu is None and seen.faults:
            raise Refused("not_ready", f"the driver cannot be asked: {seen.faults[0].code}")
        if gpu is None:
            raise Refused("unknown_gpu", f"this node has no {uuid}")
        if gpu.lost:
            raise Refused("gpu_lost", f"{uuid} does not answer")

    def _keep(self, uuid: str, kept: Kept) -> None:
        self._store.keep(uuid, kept, self._kept.get(uuid))
        if kept.order.generation != (self._kept[uuid].order.generation if uuid in self._kept else 0):
            self._ordered_at_s[uuid] = self._steady()
        self._kept = {**self._kept, uuid: kept}

    def _try_to_keep(self, uuid: str, kept: Kept) -> None:
        """The next pass tries again what the disk does not take; until then it has not happened."""
        try:
            self._keep(uuid, kept)
        except OSError as error:
            self._unwritable = error.strerror or str(error)

    def _applied(self, uuid: str) -> Applied:
        kept, drain, unit = self._kept[uuid], self._last.drains[uuid], self._last.units.get(uuid)
        is_mapped = self._mode != "enforce" or (unit is not None and not unit.problem)
        state: AppliedState = "draining" if kept.is_switch or not is_mapped else "switched"
        return Applied(state, len(drain.waiting), kept.order.generation, kept.order.access_revision)

    def _followed(self, seen: NodeSeen) -> Pass:
        """Devices are left alone: a drain has ended when NVML lists nobody any more who has to leave."""
        watch = self._watch(seen, looks_at_devices=False)
        drains = drains_of(watch, self._kept, watch.find())
        self._settle(drains, frozenset())
        return Pass(self._mode, self._kept, watch.units, drains=drains, faults=self._dated(watch, drains, {}))

    def _enforced(self, seen: NodeSeen) -> Pass:
        watch = self._watch(seen, looks_at_devices=True)
        found = watch.units
        # A probe that sees nothing does not make every device nobody's.
        nobodys = nodes_of_nobody(found.values(), self._layout) if seen.gpus else []
        nodes = [node for unit in found.values() for node in (*unit.nodes, *unit.shared)] + nobodys
        self._devices.hold_capabilities()
        wanted = wanted_users(found.values(), nobodys, self._kept, self._policy.service_uids)
        # Out first: whoever opens a device after this line has a right to it, so that the look below misses nobody.
        failed = self._devices.set_lists(nodes, wanted)
        self._on_step(Step.ACCESS_SET)
        drains = drains_of(watch, self._kept, self._find(watch))
        press_on(drains, self._kept, self._evictions, now_s=self._clock(), steady_s=self._steady())
        # Or somebody opened one meanwhile: then the look proves nothing.
        loose = frozenset(
            uuid for uuid, unit in found.items() if self._devices.differ((*unit.nodes, *unit.shared), wanted)
        )
        if self._settle(drains, loose):
            wanted = wanted_users(found.values(), nobodys, self._kept, self._policy.service_uids)
            failed |= self._devices.set_lists(nodes, wanted)
            self._on_step(Step.ACCESS_OPENED)
        proofs = self._devices.prove(nodes, wanted)
        self._on_step(Step.READ_BACK)
        access_faults = {
            uuid: [("access_failed", failed[node.path]) for node in (*unit.nodes, *unit.shared) if node.path in failed]
            + [("device_changed", text) for text in self._devices.changes((*unit.nodes, *unit.shared))]
            for uuid, unit in found.items()
        }
        return Pass(self._mode, self._kept, found, wanted, drains, proofs, self._dated(watch, drains, access_faults))

    def _watch(self, seen: NodeSeen, *, looks_at_devices: bool) -> Watch:
        ordered_ago_s = {uuid: self._steady() - at_s for uuid, at_s in self._ordered_at_s.items()}
        return Watch(self._layout, self._policy, seen, units(seen, self._layout), looks_at_devices, ordered_ago_s)

    def _find(self, watch: Watch) -> Found:
        """Who has devices open; on a quiet node as of a short while ago."""
        found_for, at_s, found = self._found
        if (
            found_for is not self._kept
            or not is_quiet(self._kept, self._clock())
            or self._steady() - at_s >= FIND_EVERY_S
        ):
            found = watch.find()
            self._found = self._kept, self._steady(), found
        return found

    def _settle(self, drains: Mapping[str, Drain], loose: frozenset[str]) -> bool:
        """What nothing stands in the way of has been reached, on disk first; whether a switch was among it.

        `loose`: units whose devices are not as they were to be.
        """
        before = self._kept
        for uuid, kept in before.items():
            is_over = drains[uuid].has_ended and not kept.is_torn and uuid not in loose
            if is_over if kept.is_switch else kept.reached != kept.order:
                self._on_step(Step.DRAIN_ENDED)
                self._try_to_keep(uuid, replace(kept, reached=kept.order))
        if any(before[uuid].is_switch and not kept.is_switch for uuid, kept in self._kept.items()):
            self._on_step(Step.SWITCH_KEPT)
            return True
        return False

    def _dated(
        self, watch: Watch, drains: Mapping[str, Drain], access: Mapping[str, list[Finding]]
    ) -> dict[str, tuple[Fault, ...]]:
        """Unit uuid, or "" for the node -> what is wrong, each as old as it is."""
        steady_s = self._steady()
        lasting = self._since.lasting(faults.dead_pids(watch, drains), steady_s)
        found = {
            uuid: [
                *faults.of_unit(uuid, watch, self._kept.get(uuid), drains.get(uuid)),
                *faults.stuck(drains.get(uuid), self._evictions, lasting.get(uuid, ()), steady_s),
                *access.get(uuid, ()),
            ]
            for uuid in watch.units.keys() | self._kept.keys()
        }
        enforces = self._mode == "enforce"
        return self._since.dated(found | {"": [*faults.of_node(self._layout, self._unwritable, enforces=enforces)]})
