"""How the probe looks at its node: times, and where the node's files are."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

CHILD = "inventory.node_agent.probe.child"


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """`seen_errors`: where Xids outlive a restart of the agent; None: nowhere. `environment` is added to the child's.

    Two samples a minute are the least that judging needs; below a second the driver's lock is felt by the jobs.
    """

    poll_every_s: float = 15.0
    card_deadline_s: float = 5.0
    # Without persistence mode a driver initialises every card anew.
    init_deadline_s: float = 30.0
    # What a clean end gets before SIGKILL, and the kernel to carry that out.
    end_within_s: float = 5.0
    # First pause after a failed start, and after a card that hung; doubled up to the longest.
    start_again_s: float = 5.0
    start_again_most_s: float = 60.0
    hung_again_s: float = 60.0
    hung_again_most_s: float = 1800.0
    # A driver that was asked for long has leaked before; and a card that is missing may be there after a new start.
    renew_every_s: float = 6 * 3600.0
    renew_for_missing_s: float = 600.0
    # A card that threw an Xid and works is a card that works.
    xid_kept_s: float = 24 * 3600.0
    proc: Path = Path("/proc")
    pci: Path = Path("/sys/bus/pci/devices")
    seen_errors: Path | None = None
    # -P: nothing that lies where the agent was started may stand in for a module.
    command: tuple[str, ...] = (sys.executable, "-P", "-m", CHILD)
    environment: dict[str, str] = field(default_factory=dict)
