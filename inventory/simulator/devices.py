"""One simulated GPU: the order it accepted, and apart from that the state of its device."""

from dataclasses import dataclass, field, replace
from uuid import NAMESPACE_URL, uuid5

from inventory.node_agent.protocol import Applied, GpuSeen, Order, ProcessSeen, Refusal, Value
from inventory.simulator.life import Habit, fraction, use_of

# What a process gets between TERM and KILL when the order carries the authority to evict.
EVICTION_GRACE_S = 1.0
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
    """A slot with its card. Times are Unix seconds; `drain_ends_at` is when the old holder's last process will end."""

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
        self.seed("", 0, 0.0)

    def seen(self, *, now: float, habit: Habit) -> GpuSeen:
        """What the node reads back from the device at `now`."""
        self.settle(now)
        if self.lost:
            nothing = Value(None, "lost", 0.0)
            util_pct = mem_used_mib = power_w = temperature_c = nothing
            processes = None
        else:
            use = use_of(
                uuid=self.uuid,
                model=self.model,
                memory_mib=self.memory_mib,
                holder=self.holder,
                habit=habit,
                now_s=now,
            )
            util_pct, mem_used_mib = Value(use.util_pct, None, use.age_s), Value(use.mem_used_mib, None, use.age_s)
            power_w, temperature_c = Value(use.power_w, None, use.age_s), Value(use.temperature_c, None, use.age_s)
            processes = self._processes(use.mem_used_mib)
        return GpuSeen(
            self.uuid,
            self.pci_bus_id,
            "gpu",
            None,
            self.model,
            self.memory_mib,
            self.lost,
            self.holder,
            self.generation,
            self.drain_ends_at is not None,
            util_pct,
            mem_used_mib,
            power_w,
            temperature_c,
            processes,
            access_revision=self.order.access_revision if self.order.holder == self.holder else 0,
            ordered_generation=self.order.generation,
        )

    def _pids(self) -> list[int]:
        if not self.holder:
            return []
        first = 1000 + int(4_000_000 * fraction(self.uuid, self.holder, int(self.held_since)))
        # Every fourth job has a second process on the card.
        return [first, first + 1] if first % 4 == 0 else [first]

    def _processes(self, mem_used_mib: int) -> tuple[ProcessSeen, ...]:
        pids = self._pids()
        ids = self.order.unix_ids if self.order.holder == self.holder else ()
        user = str(ids[self.slot % len(ids)]) if ids else self.holder
        return tuple(ProcessSeen(pid, user, self.held_since, mem_used_mib // len(pids)) for pid in pids)
