"""The plain values that travel between the portal and a node."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Kind = Literal["gpu", "mig"]
AppliedState = Literal["draining", "switched"]


@dataclass(frozen=True, slots=True)
class Value:
    """One measured number, or None and the reason why there is none; never 0 in place of an error.

    `age_s`: seconds since the node measured it.
    """

    value: float | None
    reason: str | None
    age_s: float


@dataclass(frozen=True, slots=True)
class ProcessSeen:
    """A process on a GPU. `started_at_s`: Unix time on the node; `mem_mib` None where the driver does not say."""

    pid: int
    user: str
    started_at_s: float
    mem_mib: int | None


@dataclass(frozen=True, slots=True)
class GpuSeen:
    """One unit as its node sees it.

    `holder` is read back from the device, apart from the orders accepted: a project's slug, "" when nobody may open it.
    `generation` is that of the order which the device state reflects, 0 if none does.
    `draining`: an order for another holder waits for running processes. `processes` None means unknown, not none.
    """

    uuid: str
    pci_bus_id: str
    kind: Kind
    parent_uuid: str | None
    model: str
    memory_total_mib: int | None
    lost: bool
    holder: str
    generation: int
    draining: bool
    util_pct: Value
    mem_used_mib: Value
    power_w: Value
    temperature_c: Value
    processes: tuple[ProcessSeen, ...] | None


@dataclass(frozen=True, slots=True)
class Observation:
    """All a node sees at one request. `sequence` grows with each answer of one `boot_id`."""

    node: str
    boot_id: str
    sequence: int
    gpus: tuple[GpuSeen, ...]


@dataclass(frozen=True, slots=True)
class Health:
    """A node that answers: its boot and what runs there (name of a part -> version)."""

    node: str
    boot_id: str
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class Eviction:
    """The authority to end processes: who decided it, agreed with whom, valid until that instant."""

    by: str
    with_whom: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Order:
    """The whole desired state of one GPU. `holder` "" frees it; `unix_ids` are those who may open the device.

    A later `access_revision` of the same generation replaces the ids without a switch.
    """

    holder: str
    generation: int
    access_revision: int = 0
    unix_ids: tuple[int, ...] = ()
    eviction: Eviction | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What a node answered to an order: never a proof. `running`: processes of the old holder it still waits for."""

    state: AppliedState
    running: int
    generation: int
    access_revision: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a node said no: its code, one sentence, and the generation in force where that is the reason."""

    code: str
    detail: str
    generation: int | None = None
