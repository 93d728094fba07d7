"""The control port of a simulated fleet: what demos, drills and tests let happen to its nodes."""

import hmac
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, get_args

from aiohttp import web

from inventory.simulator.life import Habit
from inventory.simulator.node import HOST

if TYPE_CHECKING:
    from inventory.simulator.fleet import SimulatedFleet

# The holders of some 10,000 GPUs in one call are about 1 MB.
BODY_MOST_BYTES = 8 * 1024 * 1024
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ControlDesk:
    """Plain HTTP on loopback, behind a token of its own."""

    def __init__(self, fleet: "SimulatedFleet", *, token: str, port: int) -> None:
        self.port = port
        self.token = token
        self._fleet = fleet
        self._bearer = f"Bearer {token}".encode()
        self._runner: web.AppRunner | None = None

    async def listen(self) -> None:
        """The control port is open."""
        app = web.Application(middlewares=[self._guard], client_max_size=BODY_MOST_BYTES)
        app.router.add_get("/fleet", self._snapshot)
        app.router.add_post("/nodes/{name}/{event}", self._node_event)
        app.router.add_post("/gpus/{uuid}/{event}", self._gpu_event)
        app.router.add_put("/holders/{holder}/habit", self._habit)
        app.router.add_put("/devices", self._devices)
        app.router.add_put("/drain", self._drain)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self.port).start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """The control port is closed."""
        if self._runner:
            await self._runner.cleanup()
            self._runner = None

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not hmac.compare_digest(request.headers.get("Authorization", "").encode(errors="replace"), self._bearer):
            return _refused(401, "this is not the control token")
        try:
            return await handler(request)
        except KeyError as error:
            return _refused(404, f"the fleet has no {error.args[0]}")
        except (ValueError, TypeError) as error:
            return _refused(400, str(error))
        except OSError as error:
            return _refused(409, str(error))

    async def _snapshot(self, request: web.Request) -> web.Response:
        return web.json_response(self._fleet.snapshot())

    async def _node_event(self, request: web.Request) -> web.Response:
        fleet, name = self._fleet, request.match_info["name"]
        match request.match_info["event"]:
            case "kill":
                await fleet.kill(name)
            case "hang":
                await fleet.hang(name)
            case "revive":
                await fleet.revive(name)
            case "disobey":
                fleet.disobey(name)
            case "obey":
                fleet.obey(name)
            case other:
                raise ValueError(f"{other} cannot happen to a node")
        return web.json_response({})

    async def _gpu_event(self, request: web.Request) -> web.Response:
        fleet, uuid = self._fleet, request.match_info["uuid"]
        match request.match_info["event"]:
            case "lose":
                fleet.lose(uuid)
            case "find":
                fleet.lose(uuid, lost=False)
            case "replace":
                uuid = fleet.replace_card(uuid)
            case "fault":
                told = await _body(request)
                fleet.fault(uuid, str(told["code"]), str(told.get("detail", "")))
            case "heal":
                fleet.heal(uuid)
            case "intrude":
                fleet.device(uuid).intruder = str((await _body(request))["user"])
            case other:
                raise ValueError(f"{other} cannot happen to a GPU")
        return web.json_response({"uuid": uuid})

    async def _habit(self, request: web.Request) -> web.Response:
        habit: Any = (await _body(request)).get("habit")
        if habit not in get_args(Habit):
            raise ValueError(f"habit is one of {', '.join(get_args(Habit))}")
        self._fleet.set_habit(request.match_info["holder"], habit)
        return web.json_response({})

    async def _devices(self, request: web.Request) -> web.Response:
        holders = await _body(request)
        self._fleet.seed_holders(
            {uuid: (str(holder), int(generation)) for uuid, (holder, generation) in holders.items()}
        )
        return web.json_response({})

    async def _drain(self, request: web.Request) -> web.Response:
        self._fleet.set_drain(float((await _body(request))["drain_s"]))
        return web.json_response({})


async def _body(request: web.Request) -> dict[str, Any]:
    body = await request.json()
    if not isinstance(body, dict):
        raise ValueError("the body must be an object")
    return body


def _refused(status: int, detail: str) -> web.Response:
    return web.json_response({"detail": detail}, status=status)
