"""One simulated node: a port of its own, its devices, and the answers of a node agent."""

import asyncio
import hmac
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote
from uuid import uuid4

from aiohttp import web

from inventory.node_agent.protocol import (
    HEALTH_PATH,
    OBSERVATION_PATH,
    REFUSAL_STATUS,
    SETTINGS_PATH,
    Health,
    Malformed,
    Mode,
    Observation,
    Settings,
    dump_applied,
    dump_health,
    dump_observation,
    dump_refusal,
    dump_settings,
    holder_path,
    parse_order,
    parse_settings,
)
from inventory.simulator.devices import Device, Refused
from inventory.simulator.life import Habit

Condition = Literal["up", "killed", "hung"]
HOST = "127.0.0.1"
VERSIONS = {"agent": "simulated", "driver": "simulated"}
BEFORE_UUID, AFTER_UUID = holder_path("|").split("%7C")
# Connections that are dropped on purpose get no time to finish; 0 would mean to wait for ever.
DROP_AFTER_S = 0.01


@dataclass(frozen=True, slots=True)
class SimNode:
    """A node to simulate. `port` 0: any free one, the same after a restart. Island and site are for the reader."""

    name: str
    model: str
    gpus: int
    memory_mib: int
    token: str = field(repr=False)
    island: str = ""
    site: str = ""
    port: int = 0


@dataclass(slots=True)
class Surroundings:
    """What all nodes of a fleet share. `clock`: Unix time; `save`: one device's state is to be remembered."""

    clock: Callable[[], float]
    drain_s: float
    save: Callable[[Device], None]
    habits: dict[str, Habit] = field(default_factory=dict)


class SimulatedNode:
    """Listens and answers as a node agent would."""

    def __init__(self, spec: SimNode, surroundings: Surroundings) -> None:
        self.spec = spec
        self.port = spec.port
        self.condition: Condition = "up"
        self.obeys = True
        self.devices = [Device(spec.name, slot, spec.model, spec.memory_mib) for slot in range(spec.gpus)]
        self._around = surroundings
        self._mode: Mode = "enforce"
        self._tokens = [spec.token]
        self._boot_id = str(uuid4())
        self._sequence = 0
        self._listener: asyncio.Server | None = None
        self._server: web.Server | None = None

    @property
    def address(self) -> str:
        """Where the portal finds it."""
        return f"https://{HOST}:{self.port}"

    async def listen(self, context: ssl.SSLContext) -> None:
        """The port is open. Raises OSError if somebody else has it."""
        # Cancelled when the caller hangs up: else each poll of a hung node would leave a task that waits for ever.
        self._server = web.Server(self._answer, access_log=None, handler_cancellation=True)
        self._listener = await asyncio.get_running_loop().create_server(
            self._server, HOST, self.port, ssl=context, backlog=16
        )
        self.port = self._listener.sockets[0].getsockname()[1]

    async def drop(self) -> None:
        """The port is closed and every connection broken off, as when the power goes."""
        if self._listener is not None and self._server is not None:
            self._listener.close()
            for connection in self._server.connections:
                if connection.transport is not None:
                    connection.transport.abort()
            await self._server.shutdown(DROP_AFTER_S)
        self._listener = self._server = None

    def boot(self) -> None:
        """A new boot: its own id, answers counted from 1, no process of before."""
        self._boot_id, self._sequence = str(uuid4()), 0
        for device in self.devices:
            device.reboot(self._around.clock())

    def observe(self) -> Observation:
        """What the node sees now, read from its devices."""
        self._sequence += 1
        now, habits = self._around.clock(), self._around.habits
        seen = tuple(device.seen(now=now, habit=habits.get(device.holder, "life")) for device in self.devices)
        return Observation(
            self.spec.name,
            self._boot_id,
            self._sequence,
            seen,
            self._mode,
            agent=VERSIONS["agent"],
            driver=VERSIONS["driver"],
            cards_on_bus=len(self.devices),
        )

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        if self.condition == "hung":
            await asyncio.Event().wait()
        try:
            body = await self._body(request)
        except Refused as refused:
            refusal = refused.refusal
            return _json(dump_refusal(refusal), REFUSAL_STATUS[refusal.code])
        return _json(body, 200)

    async def _body(self, request: web.BaseRequest) -> bytes:
        if not self._accepts(request.headers.get("Authorization", "")):
            raise Refused("bad_token", "this is not the token of this node")
        path = request.rel_url.raw_path
        if request.method == "GET" and path == OBSERVATION_PATH:
            return dump_observation(self.observe())
        if request.method == "GET" and path == HEALTH_PATH:
            return dump_health(Health(self.spec.name, self._boot_id, VERSIONS))
        if request.method == "PUT" and path.startswith(BEFORE_UUID) and path.endswith(AFTER_UUID):
            uuid = unquote(path[len(BEFORE_UUID) : -len(AFTER_UUID)])
            return self._order(uuid, await request.read())
        if request.method == "PUT" and path == SETTINGS_PATH:
            return self._settle(await request.read())
        raise Refused("unknown_path", f"nothing is at {request.method} {path}")

    def _accepts(self, header: str) -> bool:
        for token in self._tokens:
            if hmac.compare_digest(header.encode(errors="replace"), f"Bearer {token}".encode()):
                # The first use of a new token ends the old one.
                self._tokens = [token] if token != self._tokens[0] else self._tokens
                return True
        return False

    def _settle(self, body: bytes) -> bytes:
        try:
            settings = parse_settings(body)
        except Malformed as error:
            raise Refused("malformed", str(error)) from error
        self._mode = settings.mode
        if settings.token:
            self._tokens = [self._tokens[0], settings.token]
        return dump_settings(Settings(settings.mode))

    def _order(self, uuid: str, body: bytes) -> bytes:
        device = next((device for device in self.devices if device.uuid == uuid), None)
        if device is None:
            raise Refused("unknown_gpu", f"{uuid} is not in this node")
        try:
            order = parse_order(body)
        except Malformed as error:
            raise Refused("malformed", str(error)) from error
        around = self._around
        applied = device.ensure(order, now=around.clock(), drain_s=around.drain_s, obeys=self.obeys)
        # On disk before the answer: what was accepted outlives the agent.
        around.save(device)
        return dump_applied(applied)


def _json(body: bytes, status: int) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")
