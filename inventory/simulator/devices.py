"""One simulated GPU: the order it accepted, and apart from that the state of its device."""

from dataclasses import dataclass, field, replace
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from inventory.node_agent.protocol import Applied, Fault, GpuSeen, Order, ProcessSeen, Refusal, Value
from inventory.simulator.life import Habit, board_w, fraction, use_of

# What a process gets between TERM and KILL when the order carries the authority to evict.
EVICTION_GRACE_S = 1.0
# What an H100's driver keeps for itself.
RESERVED_MIB = 551
INTRUDERS_PID = 4_100_000
VALUES = (
    "util_pct", "mem_used_mib", "power_w", "temperature_c", "util_peak_pct", "engine_pct", "mem_reserved_mib",
    "energy_j", "power_limit_w",
)  # fmt: skip
NEVER_ORDERED = Order(holder="", generation=0)


class Refused(Exception):
    """The node does not accept the order."""

    def __init__(self, code: str, detail: str, generation: int | None = None) -> None:
        super().__init__(detail)
        self.refusal = Refusal(code, detail, generation)


def gpu_uuid(node: str, slot: int, card: int = 0) -> str:
    """The uuid of the `card`-th card (0 the first) that ever sat in that slot."""
    return f"GPU-{uuid5(NAMESPACE_URL, f'simulated:{node}/{slot}/{card}')}"


@dataclass(slots=True)
class Device:
    """A slot with its card. Times are Unix seconds; `drain_ends_at` is when the old holder's last process will end.

    `faults`: what is wrong with the card, by code; `intruder`: a user without a right who has a process on it. Both,
    and the counter of energy, begin anew with the simulator.
    """

    node: str
    slot: int
    model: str
    memory_mib: int
    card: int = 0
    lost: bool = False
    holder: str = ""
    generation: int = 0
    held_since: float = 0.0
    order: Order = NEVER_ORDERED
    drain_ends_at: float | None = None
    faults: dict[str, Fault] = field(default_factory=dict)
    intruder: str = ""
    energy_j: float = 0.0
    counted_at: float = 0.0
    uuid: str = field(init=False)
    pci_bus_id: str = field(init=False)

    def __post_init__(self) -> None:
        self.sits(self.card)

    def sits(self, card: int) -> None:
        """The `card`-th card sits in the slot."""
        self.card = card
        self.uuid = gpu_uuid(self.node, self.slot, self.card)
        self.pci_bus_id = f"00000000:{0x10 + self.slot:02X}:00.0"

    def ensure(self, order: Order, *, now: float, drain_s: float, obeys: bool) -> Applied:
        """The order is accepted, and acted on if the node `obeys`; one that does not says "switched" all the same.

        Raises Refused.
        """
        self.settle(now)
        if self.lost:
            raise Refused("gpu_lost", f"{self.uuid} does not answer")
        known = self.order
        if order.generation < known.generation:
            raise Refused("older_generation", f"generation {known.generation} is in force", known.generation)
        if order.generation == known.generation:
            if order.holder != known.holder:
                raise Refused("generation_conflict", f"this generation is {known.holder!r}'s", known.generation)
            if order.access_revision < known.access_revision:
                order = replace(order, access_revision=known.access_revision, unix_ids=known.unix_ids)
        self.order = order
        if not obeys:
            return Applied("switched", 0, order.generation, order.access_revision)
        self.act(now=now, drain_s=drain_s)
        running = 0 if self.drain_ends_at is None else len(self._pids())
        return Applied("draining" if running else "switched", running, order.generation, order.access_revision)

    def act(self, *, now: float, drain_s: float) -> None:
        """The device follows the accepted order: at once, or when the old holder's processes have ended."""
        order = self.order
        if order.holder == self.holder:
            self.generation = order.generation
            self.drain_ends_at = None
            return
        if self.drain_ends_at is None:
            spread = 0.5 + fraction(self.uuid, "drain", order.generation)
            self.drain_ends_at = now + (drain_s * spread if self.holder else 0.0)
        if order.eviction and order.eviction.until.timestamp() > now:
            self.drain_ends_at = min(self.drain_ends_at, now + EVICTION_GRACE_S)
        self.settle(now)

    def settle(self, now: float) -> None:
        """If the last process of the old holder has ended by `now`, the device is the new holder's."""
        if self.drain_ends_at is not None and self.drain_ends_at <= now:
            self.holder, self.generation = self.order.holder, self.order.generation
            self.held_since = self.drain_ends_at
            self.drain_ends_at = None

    def reboot(self, now: float) -> None:
        """No process of before lives on, so that nothing holds up a drain; who may open the device stays."""
        if self.drain_ends_at is not None:
            self.drain_ends_at = min(self.drain_ends_at, now)
        self.settle(now)
        self.held_since = now

    def seed(self, holder: str, generation: int, now: float) -> None:
        """The device is `holder`'s, as if an order of that generation had been carried out."""
        self.order = Order(holder, generation)
        self.holder, self.generation, self.held_since, self.drain_ends_at = holder, generation, now, None

    def replace_card(self) -> None:
        """Another card sits in the slot: a new uuid, nobody's, no order; the old one's went with it."""
        self.sits(self.card + 1)
        self.lost = False
        self.faults, self.intruder, self.energy_j, self.counted_at = {}, "", 0.0, 0.0
        self.seed("", 0, 0.0)

    def seen(self, *, now: float, habit: Habit) -> GpuSeen:
        """What the node reads back from the device at `now`."""
        self.settle(now)
        values, processes = ({}, None) if self.lost else self._used(now, habit)
        nothing = Value(None, "lost", 0.0)
        told: dict[str, Any] = {name: values.get(name, nothing) for name in VALUES}
        return GpuSeen(
            uuid=self.uuid,
            pci_bus_id=self.pci_bus_id,
            kind="gpu",
            parent_uuid=None,
            model=self.model,
            memory_total_mib=self.memory_mib,
            lost=self.lost,
            holder=self.holder,
            generation=self.generation,
            draining=self.drain_ends_at is not None,
            processes=processes,
            minor=self.slot,
            serial=str(1_650_000_000_000 + int(1e9 * fraction(self.uuid, "serial", 0))),
            faults=tuple(self.faults.values()),
            open_to=self._ids(),
            access_revision=self.order.access_revision if self.order.holder == self.holder else 0,
            ordered_generation=self.order.generation,
            **told,
        )

    def _used(self, now: float, habit: Habit) -> tuple[dict[str, Value], tuple[ProcessSeen, ...]]:
        use = use_of(
            uuid=self.uuid, model=self.model, memory_mib=self.memory_mib, holder=self.holder, habit=habit, now_s=now
        )
        if self.counted_at:
            self.energy_j += use.power_w * max(0.0, now - self.counted_at)
        self.counted_at = now
        numbers = {
            "util_pct": use.util_pct,
            "mem_used_mib": use.mem_used_mib,
            "power_w": use.power_w,
            "temperature_c": use.temperature_c,
            "util_peak_pct": use.util_peak_pct,
            "engine_pct": 0,
            "mem_reserved_mib": RESERVED_MIB,
            "energy_j": round(self.energy_j, 3),
            "power_limit_w": board_w(self.model),
        }
        return {name: Value(number, None, use.age_s) for name, number in numbers.items()}, self._processes(
            use.mem_used_mib
        )

    def _pids(self) -> list[int]:
        if not self.holder:
            return []
        first = 1000 + int(4_000_000 * fraction(self.uuid, self.holder, int(self.held_since)))
        # Every fourth job has a second process on the card.
        return [first, first + 1] if first % 4 == 0 else [first]

    def _ids(self) -> tuple[int, ...]:
        return self.order.unix_ids if self.order.holder == self.holder else ()

    def _processes(self, mem_used_mib: int) -> tuple[ProcessSeen, ...]:
        pids, ids = self._pids(), self._ids()
        uid = ids[self.slot % len(ids)] if ids else None
        user = self.holder if uid is None else str(uid)
        found = [
            ProcessSeen(pid, user, self.held_since, mem_used_mib // len(pids), uid, "python3", allowed=True)
            for pid in pids
        ]
        if self.intruder:
            found.append(
                ProcessSeen(INTRUDERS_PID, self.intruder, self.counted_at, 400, None, "python3", allowed=False)
            )
        return tuple(found)
