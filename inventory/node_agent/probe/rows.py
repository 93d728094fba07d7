"""The newest that is known of each unit, and since when something is wrong with it."""

from dataclasses import dataclass, field
from typing import Any, Literal

from inventory.node_agent.probe import faults
from inventory.node_agent.protocol import NOT_REPORTED, GpuSeen, ProcessSeen, Value
from inventory.node_agent.protocol.values import Fault

VALUES = (
    "util_pct",
    "mem_used_mib",
    "power_w",
    "temperature_c",
    "util_peak_pct",
    "engine_pct",
    "mem_reserved_mib",
    "energy_j",
    "power_limit_w",
)
# Lists come each 30 s; the wire has no age for them, so that old ones must become unknown here.
LISTED_MOST_S = 90.0
UNREADABLE_NAME = "NVIDIA GPU (name not readable)"
# A driver's total that is the machine's memory: the kernel takes some of it before it counts.
SAME_MEMORY = 0.05


@dataclass(slots=True)
class Row:
    """One unit. `values`: name -> (value, reason, when on the monotonic clock)."""

    uuid: str
    index: int
    bus: str = ""
    kind: Literal["gpu", "mig"] = "gpu"
    parent: str | None = None
    model: str = ""
    serial: str = ""
    minor: int | None = None
    total_mib: int | None = None
    mig: bool = False
    by_slot: bool = False
    ids: tuple[int, int] | None = None
    values: dict[str, tuple[float | None, str | None, float]] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    health: dict[str, int] = field(default_factory=dict)
    processes: tuple[ProcessSeen, ...] | None = None
    listed_s: float = 0.0
    unreadable: str = ""

    def read(self, unit: dict[str, Any]) -> None:
        """What the child said about it replaces what was known; what it did not ask this time stays, and ages."""
        self.index, self.bus, self.kind, self.parent = unit["index"], unit["bus"], unit["kind"], unit.get("parent")
        self.serial, self.minor = unit["serial"], unit["minor"]
        # One answer of garbage makes no other model of a card.
        self.model = unit["model"] or self.model or UNREADABLE_NAME
        self.total_mib = unit["total_mib"] if unit["total_mib"] is not None else self.total_mib
        self.mig, self.by_slot = bool(unit.get("mig")), unit.get("by_slot", False)
        ids = unit.get("ids") or (None, None)
        self.ids = None if None in ids else tuple(ids)
        self.values.update({name: tuple(said) for name, said in unit["values"].items()})
        self.errors = {int(number): call for number, call in unit["errors"].items()}
        if self.mig:
            # The whole card's memory is withheld while its instances tell theirs (nvidia-container-toolkit#842).
            self.errors = {number: call for number, call in self.errors.items() if "Memory" not in call}
        self.health = unit.get("health", self.health)
        self.unreadable = ""

    def fail(self, code: int | None, reason: str, call: str, now_s: float) -> None:
        """The card cannot even be opened: all its values are unknown for that reason."""
        self.values = dict.fromkeys(VALUES, (None, reason, now_s))
        self.errors = {code: call} if code in faults.CARD_ERRORS else {}
        self.unreadable = "" if self.errors else f"{call} answered {reason}"
        self.processes = None

    @property
    def failing(self) -> bool:
        """No value of its own: neither what it does nor what it holds is known."""
        return all(value is None and reason != "not_supported" for value, reason, _ in self.values.values())

    def found(self) -> list[tuple[str, str]]:
        """Code and detail of all that is wrong by what the card said itself."""
        found = list(faults.of_errors(self.errors)) + list(faults.of_health(self.health))
        if self.unreadable or self.by_slot:
            found.append(("handle_failed", self.unreadable or "its index gives no handle, its place on the bus does"))
        return found

    def seen(self, now_s: float, known: tuple[Fault, ...], memory_mib: int | None) -> GpuSeen:
        """As the wire has it, with ages at `now_s`. `memory_mib`: the machine's own."""

        def value(name: str) -> Value:
            if name not in self.values:
                return Value(None, "not_supported", 0.0) if name in VALUES[:4] else NOT_REPORTED
            number, reason, at_s = self.values[name]
            return Value(number, reason, round(max(0.0, now_s - at_s), 3))

        return GpuSeen(
            uuid=self.uuid,
            pci_bus_id=self.bus or "unknown",
            kind=self.kind,
            parent_uuid=self.parent,
            model=self.model,
            memory_total_mib=self.total_mib,
            lost=faults.LOST in self.errors,
            holder="",
            generation=0,
            draining=False,
            processes=self.processes if now_s - self.listed_s <= LISTED_MOST_S else None,
            minor=self.minor,
            serial=self.serial,
            unified_memory=self._unified(memory_mib),
            faults=known,
            util_pct=value("util_pct"),
            mem_used_mib=value("mem_used_mib"),
            power_w=value("power_w"),
            temperature_c=value("temperature_c"),
            util_peak_pct=value("util_peak_pct"),
            engine_pct=value("engine_pct"),
            mem_reserved_mib=value("mem_reserved_mib"),
            energy_j=value("energy_j"),
            power_limit_w=value("power_limit_w"),
        )

    def _unified(self, memory_mib: int | None) -> bool:
        """The card and the processor share one memory: it has none of its own, or the machine's; and no power limit."""
        without = {name for name, (_, reason, _) in self.values.items() if reason == "not_supported"}
        if self.kind != "gpu" or self.mig or "power_limit_w" not in without:
            return False
        same = self.total_mib and memory_mib and abs(self.total_mib - memory_mib) <= SAME_MEMORY * memory_mib
        return "mem_used_mib" in without or bool(same)
