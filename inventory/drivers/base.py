"""What every way of speaking to a node can do, and the plain values that go in and come out."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

# The values of the agent's wire are the values of every driver: one shape for whoever stores or judges them.
from inventory.node_agent.protocol import (
    NOT_REPORTED,
    Applied,
    Eviction,
    Fault,
    GpuSeen,
    Observation,
    Order,
    ProcessSeen,
    Settings,
    Value,
)

__all__ = [
    "NOT_REPORTED",
    "Applied",
    "Driver",
    "Eviction",
    "Fault",
    "GpuSeen",
    "NodeAddress",
    "Observation",
    "Observed",
    "Order",
    "ProcessSeen",
    "Settings",
    "UnitOrder",
    "Value",
]


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """Where and how one node is spoken to. `certificate_sha256`: 64 hex digits; `driver`: a name of the registry."""

    name: str
    address: str
    token: str = field(repr=False)
    certificate_sha256: str
    driver: str = "agent"


@dataclass(frozen=True, slots=True)
class Observed:
    """What a node said, and the portal's instant at which it was asked: the clock that a proof goes by."""

    observation: Observation
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class UnitOrder:
    """An order on its way: which node, which GPU, what."""

    node: NodeAddress
    uuid: str
    order: Order


class Driver(Protocol):
    """One way of speaking to nodes; belongs to one event loop."""

    async def observe(self, node: NodeAddress) -> Observed:
        """What the node sees now. Raises NodeUnreachable, NodeRefused, BadAnswer, BadToken, CertificateMismatch."""

    async def ensure_unit(self, node: NodeAddress, uuid: str, order: Order) -> Applied:
        """The node has accepted that GPU `uuid` is to be as `order` says; repeats do no harm, and it is no proof.

        Raises NodeUnreachable, NodeRefused, BadAnswer, BadToken, CertificateMismatch.
        """

    async def ensure_settings(self, node: NodeAddress, settings: Settings) -> None:
        """The node works as `settings` say, and has kept that; repeats do no harm.

        Raises NodeUnreachable, NodeRefused (`observes_only`, `not_ready`), BadAnswer, BadToken, CertificateMismatch.
        """

    async def close(self) -> None:
        """All connections are closed."""
