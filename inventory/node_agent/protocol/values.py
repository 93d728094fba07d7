"""The plain values that travel between the portal and a node."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Kind = Literal["gpu", "mig"]
AppliedState = Literal["draining", "switched"]
# observe: looks only; shadow: says what enforcement would have revoked; enforce: devices open for the holder only.
Mode = Literal["observe", "shadow", "enforce"]


@dataclass(frozen=True, slots=True)
class Value:
    """One measured number, or None and the reason why there is none; never 0 in place of an error.

    `age_s`: seconds since the node measured it.
    """

    value: float | None
    reason: str | None
    age_s: float


# What an agent that speaks an older version of the wire does not report.
NOT_REPORTED = Value(None, "not_reported", 0.0)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a GPU or a node: a code that never changes, the evidence, and since when it is seen.

    `since_s`: Unix time on the node.
    """

    code: str
    detail: str
    since_s: float


@dataclass(frozen=True, slots=True)
class ProcessSeen:
    """A process on a GPU. `started_at_s`: Unix time on the node; `mem_mib` None where the driver does not say.

    `user` is a login, or the number where it has none; "?" where the process was gone before anybody looked. `job` says
    what it belongs to: `lease:42`, `slurm:123`, `container:1f2e`, `service:x`, "" unknown. `allowed`: whether the
    node's orders let its user hold the GPU; None where that is not known.
    """

    pid: int
    user: str
    started_at_s: float
    mem_mib: int | None
    uid: int | None = None
    name: str = ""
    job: str = ""
    zombie: bool = False
    allowed: bool | None = None


@dataclass(frozen=True, slots=True)
class GpuSeen:
    """One unit as its node sees it.

    `holder` is read back from the device, apart from the orders accepted: a project's slug, "" when nobody may open it,
    None where that cannot be known. In a mode other than enforce devices do not say: it is then the holder of the last
    order whose drain has ended, by the processes (ADR 20).
    `generation` is that of the order which the device state reflects, 0 if none does.
    `draining`: an order for another holder waits for running processes. `processes` None means unknown, not none.
    `util_peak_pct`: the highest sample in the driver's buffer since the last look, so that nothing is missed between
    two; `engine_pct`: the busiest of the video and JPEG engines; `energy_j`: a counter since the driver was loaded.
    `minor`: N of /dev/nvidiaN. `open_to`: the users who may open the device as read back, apart from the node's own
    service accounts, None where that is unknown or everybody may;
    `access_revision`: the revision of the order that this reflects. `ordered_generation`: that of the newest order
    accepted, which the device need not reflect yet.
    """

    uuid: str
    pci_bus_id: str
    kind: Kind
    parent_uuid: str | None
    model: str
    memory_total_mib: int | None
    lost: bool
    holder: str | None
    generation: int
    draining: bool
    util_pct: Value
    mem_used_mib: Value
    power_w: Value
    temperature_c: Value
    processes: tuple[ProcessSeen, ...] | None
    util_peak_pct: Value = NOT_REPORTED
    engine_pct: Value = NOT_REPORTED
    mem_reserved_mib: Value = NOT_REPORTED
    energy_j: Value = NOT_REPORTED
    power_limit_w: Value = NOT_REPORTED
    minor: int | None = None
    serial: str = ""
    unified_memory: bool = False
    faults: tuple[Fault, ...] = ()
    open_to: tuple[int, ...] | None = None
    access_revision: int = 0
    ordered_generation: int = 0


@dataclass(frozen=True, slots=True)
class Observation:
    """All a node sees at one request. `sequence` grows with each answer of one `boot_id`.

    `cards_on_bus`: NVIDIA cards that the PCI bus shows, which may be more than the driver does; None: unknown.
    """

    node: str
    boot_id: str
    sequence: int
    gpus: tuple[GpuSeen, ...]
    mode: Mode = "enforce"
    agent: str = ""
    driver: str = ""
    cards_on_bus: int | None = None
    faults: tuple[Fault, ...] = ()


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
class Settings:
    """How the portal wants the node to work: its mode, and the token that it accepts from now on.

    `token` "": as it is. The old one is accepted until the new one was used once.
    """

    mode: Mode
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a node said no: its code, one sentence, and the generation in force where that is the reason."""

    code: str
    detail: str
    generation: int | None = None
