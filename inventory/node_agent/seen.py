"""What the probe found on this node, before anybody says whose the GPUs are."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from inventory.node_agent.protocol import Fault, GpuSeen


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """The node's GPUs as the driver shows them: nobody's, no generation, no reading of who may open them.

    `gpus` is empty and `faults` says why where the driver cannot be asked. `cards_on_bus`: NVIDIA cards on the PCI bus,
    None where that is unknown. `instances`: MIG uuid -> (GPU instance id, compute instance id), by which its capability
    devices are found. `listed_age_s`: GPU uuid -> seconds since NVML listed its processes, which is not with each poll.
    """

    gpus: tuple[GpuSeen, ...]
    driver: str = ""
    cards_on_bus: int | None = None
    faults: tuple[Fault, ...] = ()
    instances: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    listed_age_s: Mapping[str, float] = field(default_factory=dict)
