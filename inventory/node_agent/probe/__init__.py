"""What this node's GPUs do: NVML, asked by a child that may hang, told by a parent that never does."""

from inventory.node_agent.probe.parent import Probe
from inventory.node_agent.probe.settings import ProbeSettings

__all__ = ["Probe", "ProbeSettings"]
