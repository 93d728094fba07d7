"""A whole simulated fleet in one process, with what can happen to it."""

import asyncio
import gc
import logging
import resource
import signal
import ssl
import time
from asyncio import sslproto
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from inventory.node_agent.protocol import Fault
from inventory.simulator.certificate import Certificate, certificate_in
from inventory.simulator.control_desk import ControlDesk
from inventory.simulator.devices import Device
from inventory.simulator.life import Habit
from inventory.simulator.memory import NodeMemory, StateFile
from inventory.simulator.node import SimNode, SimulatedNode, Surroundings

# A listener, the poller's and the executor's connections, and one to spare, for each node.
FILES_PER_NODE = 4
# The interpreter, the state file, control connections.
FILES_BESIDE = 256
# asyncio sets aside 256 KiB a TLS connection: 300 MiB for 1,200 nodes that are asked in 200 bytes.
TLS_BUFFER_BYTES = 32 * 1024

log = logging.getLogger(__name__)


class SimulatedFleet:
    """Simulated nodes with one state folder; all its methods belong to the event loop that started it."""

    def __init__(
        self,
        nodes: Sequence[SimNode],
        *,
        state: Path,
        control_token: str | None = None,
        control_port: int = 0,
        drain_s: float = 4.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`drain_s`: about how long a holder's processes go on after an order for another (half to one and a half).

        `control_token` None: one that only this object knows (`desk.token`).
        """
        self.certificate: Certificate = certificate_in(state)
        self._state = state
        self._around = Surroundings(clock=clock, drain_s=drain_s, save=self._save)
        self.nodes = {spec.name: SimulatedNode(spec, self._around) for spec in nodes}
        self.desk = ControlDesk(self, token=control_token or token_urlsafe(), port=control_port)
        self._memory: StateFile | None = None
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self.certificate.pem)
        # Sessions are not resumed: connections are kept alive instead.
        self._context.num_tickets = 0

    async def start(self) -> None:
        """Every node listens as it is remembered, killed ones apart. Raises OSError if a port is taken."""
        sslproto.SSLProtocol.max_size = TLS_BUFFER_BYTES
        _allow_open_files(FILES_PER_NODE * len(self.nodes) + FILES_BESIDE)
        self._memory = StateFile(self._state / "fleet.sqlite3")
        try:
            self._remember(self.nodes.values())
            for node in self.nodes.values():
                if node.condition != "killed":
                    await node.listen(self._context)
            self._memory.save_nodes(map(_memory_of, self.nodes.values()))
            await self.desk.listen()
        except BaseException:
            await self.stop()
            raise

    async def put(self, specs: Sequence[SimNode]) -> None:
        """These nodes are part of the running fleet, in place of those of their names, as they are remembered.

        Raises OSError if a port is taken.
        """
        nodes = [SimulatedNode(spec, self._around) for spec in specs]
        sslproto.SSLProtocol.max_size = TLS_BUFFER_BYTES
        _allow_open_files(FILES_PER_NODE * len(self.nodes.keys() | {spec.name for spec in specs}) + FILES_BESIDE)
        self._remember(nodes)
        for node in nodes:
            if before := self.nodes.get(node.spec.name):
                await before.drop()
            if node.condition != "killed":
                await node.listen(self._context)
            self.nodes[node.spec.name] = node
        self._opened().save_nodes(map(_memory_of, nodes))

    async def stop(self) -> None:
        """No port is open any more; the state is on disk."""
        await self.desk.close()
        await asyncio.gather(*(node.drop() for node in self.nodes.values()))
        if self._memory:
            self._memory.close()
            self._memory = None

    def run(self, *, on_ready: Callable[["SimulatedFleet"], None] = lambda fleet: None) -> None:
        """Serves until SIGTERM or SIGINT; `on_ready` is called once every port is open."""
        asyncio.run(self._serve(on_ready))

    async def _serve(self, on_ready: Callable[["SimulatedFleet"], None]) -> None:
        ended = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            # Own handlers: a child started by a shell's & inherits an ignored SIGINT.
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        await self.start()
        # Thousands of objects that live until the end need not be looked through again and again.
        gc.collect()
        gc.freeze()
        on_ready(self)
        await ended.wait()
        await self.stop()

    async def kill(self, name: str) -> None:
        """The node's port is closed and its connections are broken off."""
        node = self.nodes[name]
        node.condition = "killed"
        await node.drop()
        self._save_node(node)

    async def hang(self, name: str) -> None:
        """The node accepts connections and answers nothing."""
        self.nodes[name].condition = "hung"
        self._save_node(self.nodes[name])

    async def revive(self, name: str) -> None:
        """The node has booted anew, under the same port, with a new boot id; nothing changes for one that is up."""
        node = self.nodes[name]
        if node.condition == "up":
            return
        await node.drop()
        node.boot()
        await node.listen(self._context)
        node.condition = "up"
        self._opened().save_devices(node.devices)
        self._save_node(node)

    def disobey(self, name: str) -> None:
        """From now on the node accepts orders and does nothing; drains that run go on."""
        self.nodes[name].obeys = False
        self._save_node(self.nodes[name])

    def obey(self, name: str) -> None:
        """The node carries out what it accepted last."""
        node = self.nodes[name]
        node.obeys = True
        for device in node.devices:
            device.act(now=self._around.clock(), drain_s=self._around.drain_s)
        self._opened().save_devices(node.devices)
        self._save_node(node)

    def lose(self, uuid: str, *, lost: bool = True) -> None:
        """The GPU has fallen off its bus, or is back on it."""
        device = self.device(uuid)
        device.lost = lost
        self._save(device)

    def fault(self, uuid: str, code: str, detail: str = "") -> None:
        """Something is wrong with the GPU from now on; not remembered."""
        self.device(uuid).faults[code] = Fault(code, detail, self._around.clock())

    def heal(self, uuid: str) -> None:
        """Nothing is wrong with the GPU any more, and no stranger uses it."""
        device = self.device(uuid)
        device.faults, device.intruder = {}, ""

    def replace_card(self, uuid: str) -> str:
        """Another card sits in that one's slot; its uuid."""
        device = self.device(uuid)
        device.replace_card()
        self._save(device)
        return device.uuid

    def seed_holders(self, holders: Mapping[str, tuple[str, int]]) -> None:
        """GPU uuid -> (holder, generation): those devices are so, as if ordered and carried out."""
        devices = self.devices()
        now = self._around.clock()
        for uuid, (holder, generation) in holders.items():
            devices[uuid].seed(holder, generation, now)
        self._opened().save_devices(devices[uuid] for uuid in holders)

    def set_habit(self, holder: str, habit: Habit) -> None:
        """How that holder uses its GPUs from now on."""
        self._around.habits[holder] = habit
        self._opened().save_habit(holder, habit)

    def set_drain(self, drain_s: float) -> None:
        """How long processes go on, for orders that come from now on; not remembered."""
        self._around.drain_s = drain_s

    def devices(self) -> dict[str, Device]:
        """GPU uuid -> device, for the whole fleet."""
        return {device.uuid: device for node in self.nodes.values() for device in node.devices}

    def device(self, uuid: str) -> Device:
        """That GPU. Raises KeyError."""
        return self.devices()[uuid]

    def snapshot(self) -> dict[str, Any]:
        """The truth about every node and device, as plain values, for whoever checks the portal against it."""
        now = self._around.clock()
        for device in self.devices().values():
            device.settle(now)
        return {"certificate_sha256": self.certificate.sha256, "nodes": [_plain(node) for node in self.nodes.values()]}

    def _remember(self, nodes: Collection[SimulatedNode]) -> None:
        memory = self._opened()
        memory.load_devices({(device.node, device.slot): device for node in nodes for device in node.devices})
        self._around.habits.update(memory.load_habits())  # type: ignore[arg-type]  # only set_habit writes them
        remembered = memory.load_nodes()
        for node in nodes:
            if known := remembered.get(node.spec.name):
                node.condition, node.obeys = known.condition, known.obeys  # type: ignore[assignment]
                node.port = node.port or known.port

    def _opened(self) -> StateFile:
        assert self._memory is not None, "the fleet has not been started"
        return self._memory

    def _save(self, device: Device) -> None:
        self._opened().save_devices([device])

    def _save_node(self, node: SimulatedNode) -> None:
        self._opened().save_nodes([_memory_of(node)])


def _memory_of(node: SimulatedNode) -> NodeMemory:
    return NodeMemory(node.spec.name, node.port, node.condition, node.obeys)


def _plain(node: SimulatedNode) -> dict[str, Any]:
    return {
        "name": node.spec.name,
        "address": node.address,
        "condition": node.condition,
        "obeys": node.obeys,
        "gpus": [
            {
                "uuid": device.uuid,
                "slot": device.slot,
                "lost": device.lost,
                "holder": device.holder,
                "generation": device.generation,
                "draining": device.drain_ends_at is not None,
                "ordered_holder": device.order.holder,
                "ordered_generation": device.order.generation,
                "access_revision": device.order.access_revision,
                "unix_ids": list(device.order.unix_ids),
            }
            for device in node.devices
        ],
    }


def _allow_open_files(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if most > soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most < wanted:
        log.warning("open files are limited to %d; %d nodes may need %d", hard, wanted // FILES_PER_NODE, wanted)
