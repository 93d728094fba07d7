"""A fleet of simulated nodes that speak the node agent's real protocol, for demos, drills and tests without a GPU."""

from inventory.simulator.background import in_background
from inventory.simulator.certificate import certificate_in
from inventory.simulator.control import Control, ControlRefused
from inventory.simulator.devices import gpu_uuid
from inventory.simulator.fleet import SimulatedFleet
from inventory.simulator.node import SimNode

__all__ = [
    "Control",
    "ControlRefused",
    "SimNode",
    "SimulatedFleet",
    "certificate_in",
    "gpu_uuid",
    "in_background",
]
