"""A simulated fleet for one test: real ports, real TLS, time under the test's hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from inventory.drivers.base import NodeAddress
from inventory.simulator import Control, SimNode, SimulatedFleet, in_background
from tests.fakes import Clock


@dataclass
class Simulated:
    fleet: SimulatedFleet
    control: Control
    clock: Clock

    def node(self, name: str) -> NodeAddress:
        node = self.fleet.nodes[name]
        return NodeAddress(name, node.address, node.spec.token, self.fleet.certificate.sha256)

    def nodes(self) -> list[NodeAddress]:
        return [self.node(name) for name in self.fleet.nodes]

    def uuids(self, name: str) -> list[str]:
        return [device.uuid for device in self.fleet.nodes[name].devices]


@contextmanager
def simulated(
    state: Path, *, nodes: int = 1, gpus: int = 2, drain_s: float = 4.0, clock: Clock | None = None
) -> Iterator[Simulated]:
    """Nodes n0, n1, ... with tokens token-n0, token-n1, ..."""
    clock = clock or Clock()
    specs = [SimNode(f"n{index}", "NVIDIA H100", gpus, 81_559, f"token-n{index}") for index in range(nodes)]
    fleet = SimulatedFleet(specs, state=state, drain_s=drain_s, clock=clock)
    with in_background(fleet) as control:
        yield Simulated(fleet, control, clock)
