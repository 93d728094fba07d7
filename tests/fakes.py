"""Drivers in memory, for tests that care about what a node does and not about the wire."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from inventory.drivers.base import Applied, NodeAddress, Observation, Observed, Order, Settings
from inventory.errors import BadToken, NodeRefused, NodeUnreachable
from inventory.simulator.devices import Device, Refused


class Clock:
    """Unix time that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class FakeNode:
    token: str
    devices: list[Device]
    boot_id: str = "first boot"
    sequence: int = 0
    killed: bool = False
    obeys: bool = True
    mode: str = "enforce"
    next_token: str = ""


@dataclass
class FakeDriver:
    """Keeps the contract of drivers with nodes that live here: set `killed` or `obeys` on them as a test needs."""

    clock: Clock = field(default_factory=Clock)
    drain_s: float = 4.0
    nodes: dict[str, FakeNode] = field(default_factory=dict)

    def add(self, name: str, gpus: int, *, token: str = "token") -> NodeAddress:
        devices = [Device(name, slot, "NVIDIA H100", 81_559) for slot in range(gpus)]
        self.nodes[name] = FakeNode(token, devices)
        return NodeAddress(name, f"https://{name}.test", token, "0" * 64, "fake")

    async def observe(self, node: NodeAddress) -> Observed:
        requested_at = datetime.now(UTC)
        here = self._reach(node)
        here.sequence += 1
        seen = tuple(device.seen(now=self.clock(), habit="life") for device in here.devices)
        return Observed(Observation(node.name, here.boot_id, here.sequence, seen, here.mode), requested_at)

    async def ensure_unit(self, node: NodeAddress, uuid: str, order: Order) -> Applied:
        here = self._reach(node)
        device = next((device for device in here.devices if device.uuid == uuid), None)
        if device is None:
            raise NodeRefused(node.name, f"{uuid} is not in this node", "unknown_gpu")
        try:
            return device.ensure(order, now=self.clock(), drain_s=self.drain_s, obeys=here.obeys)
        except Refused as error:
            refusal = error.refusal
            raise NodeRefused(node.name, refusal.detail, refusal.code, refusal.generation) from error

    async def ensure_settings(self, node: NodeAddress, settings: Settings) -> None:
        here = self._reach(node)
        here.mode = settings.mode
        here.next_token = settings.token or here.next_token

    async def close(self) -> None:
        pass

    def _reach(self, node: NodeAddress) -> FakeNode:
        here = self.nodes[node.name]
        if here.killed:
            raise NodeUnreachable(node.name, "no answer in time")
        if here.next_token and here.next_token == node.token:
            here.token, here.next_token = here.next_token, ""
        if here.token != node.token:
            raise BadToken(node.name, "the node does not accept the portal's token")
        return here
