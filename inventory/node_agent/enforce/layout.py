"""Where things lie on a node, and what the site settled in the agent's configuration."""

import enum
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    """The directories that enforcement reads and writes; tests lay all of them elsewhere."""

    state: Path = Path("/var/lib/allot-agent")
    devices: Path = Path("/dev")
    proc: Path = Path("/proc")
    driver: Path = Path("/proc/driver/nvidia")

    @property
    def are_stand_ins(self) -> bool:
        """Whether the device nodes are no driver's: they share the number of /dev/null and are told apart by inode."""
        return self.devices != Path("/dev")

    @property
    def mig_minors(self) -> Path:
        """The driver's table of capability devices: `gpu0/gi1/ci0/access 13`."""
        return self.driver.parent / "nvidia-caps" / "mig-minors"


@dataclass(frozen=True, slots=True)
class Policy:
    """What the site settled for this node.

    `service_uids`: accounts that keep a permanent entry on every GPU (nvidia-persistenced, dcgm). `grace_s`: between
    SIGTERM and SIGKILL. `waits_for_works_elsewhere`: whether a drain also waits for a process that only has the GPU
    open while it works on another one with a right to it; CUDA opens every GPU that its user may open.
    """

    observe_only: bool = False
    service_uids: frozenset[int] = frozenset()
    # Slurm and Kubernetes give 30 s; a large checkpoint on a shared file system takes longer.
    grace_s: float = 60.0
    waits_for_works_elsewhere: bool = True


class Step(enum.Enum):
    """The points between two effects at which the agent may die; each must converge at the next start."""

    ORDER_WRITTEN = "order written beside"
    ORDER_NAMED = "order under its name"
    ORDER_KEPT = "order safe on disk"
    OLDER_REMOVED = "older order removed"
    ACCESS_SET = "access lists set"
    TERM_SENT = "SIGTERM sent"
    KILL_SENT = "SIGKILL sent"
    DRAIN_ENDED = "drain found at its end"
    SWITCH_KEPT = "switch safe on disk"
    ACCESS_OPENED = "access list opened"
    READ_BACK = "read back"
