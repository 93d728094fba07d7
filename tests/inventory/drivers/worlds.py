"""Nodes behind drivers, of every kind, and what a test lets happen to them."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from inventory.drivers.agent import AgentDriver
from inventory.drivers.base import Driver, GpuSeen, NodeAddress, Order
from inventory.drivers.dcgm import DcgmDriver
from inventory.simulator import certificate_in
from tests.fakes import Clock, FakeDriver
from tests.inventory.simulated import simulated


@dataclass
class World:
    """One node with two GPUs behind a driver, and what a test lets happen to it."""

    driver: Driver
    node: NodeAddress
    clock: Clock
    run: Callable
    kill: Callable[[], None]
    disobey: Callable[[], None]
    lose: Callable[[str], None]

    def observe(self):
        return self.run(self.driver.observe(self.node))

    def ensure(self, uuid: str, order: Order, node: NodeAddress | None = None):
        return self.run(self.driver.ensure_unit(node or self.node, uuid, order))

    def gpu(self, uuid: str) -> GpuSeen:
        return next(gpu for gpu in self.observe().observation.gpus if gpu.uuid == uuid)

    def uuids(self) -> list[str]:
        return [gpu.uuid for gpu in self.observe().observation.gpus]


def fake_world(tmp_path):
    driver = FakeDriver()
    node = driver.add("n0", 2)
    here = driver.nodes["n0"]
    with asyncio.Runner() as runner:
        yield World(
            driver,
            node,
            driver.clock,
            runner.run,
            kill=lambda: setattr(here, "killed", True),
            disobey=lambda: setattr(here, "obeys", False),
            lose=lambda uuid: [setattr(device, "lost", True) for device in here.devices if device.uuid == uuid],
        )


def agent_world(tmp_path):
    async def make() -> AgentDriver:
        return AgentDriver(request_timeout_s=2)

    with simulated(tmp_path) as world, asyncio.Runner() as runner:
        driver = runner.run(make())
        yield World(
            driver,
            world.node("n0"),
            world.clock,
            runner.run,
            kill=lambda: world.control.kill("n0"),
            disobey=lambda: world.control.disobey("n0"),
            lose=world.control.lose,
        )
        runner.run(driver.close())


PAGE = """\
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",pci_bus_id="00000000:53:00.0",modelName="NVIDIA H100"} 97
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-b",pci_bus_id="00000000:64:00.0",modelName="NVIDIA H100"} 0
# TYPE DCGM_FI_DEV_POWER_USAGE gauge
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",pci_bus_id="00000000:53:00.0",modelName="NVIDIA H100"} 612.5
"""


def dcgm_world(tmp_path):
    certificate = certificate_in(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.pem)

    async def answer(request):
        allowed = request.headers.get("Authorization") == "Bearer token" and request.path == "/metrics"
        return web.Response(text=PAGE if allowed else "", status=200 if allowed else 401)

    async def make():
        server = web.Server(answer)
        listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0, ssl=context)
        return DcgmDriver(request_timeout_s=2), server, listener

    with asyncio.Runner() as runner:
        driver, server, listener = runner.run(make())
        address = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"

        def kill():
            listener.close()
            runner.run(server.shutdown(0.01))

        yield World(
            driver,
            NodeAddress("n0", address, "token", certificate.sha256, "dcgm"),
            Clock(),
            runner.run,
            kill=kill,
            disobey=lambda: None,
            lose=lambda uuid: None,
        )
        kill()
        runner.run(driver.close())
