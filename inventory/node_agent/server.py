"""The agent's port: HTTPS, the portal's token, four paths, and a reason for each refusal."""

import asyncio
import logging
import resource
import ssl
from asyncio import sslproto
from pathlib import Path
from urllib.parse import unquote

from aiohttp import web

from inventory.node_agent.agent import Agent
from inventory.node_agent.enforce import Refused
from inventory.node_agent.protocol import (
    HEALTH_PATH,
    OBSERVATION_PATH,
    REFUSAL_STATUS,
    SETTINGS_PATH,
    Malformed,
    Refusal,
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
from inventory.node_agent.protocol.fields import LONGEST_TEXT

BEFORE_UUID, AFTER_UUID = holder_path("|").split("%7C")
# 8192 user ids in JSON are 90 kB.
BODY_MOST_BYTES = 256 * 1024
# Longer than the portal keeps a connection, so that it is the portal that ends it.
KEEPALIVE_S = 180.0
# A handshake takes milliseconds; who does not finish one holds a descriptor.
HANDSHAKE_S = 5.0
# Whoever works on the node can connect: who has shown no token by then is cut off, and so is the oldest of too many,
# so that nobody keeps the portal out.
STRANGER_S = 10.0
STRANGERS_MOST = 64
SWEEP_EVERY_S = 1.0
# For strangers in their handshakes; the portal needs two.
FILES_MOST = 16_384
BACKLOG = 64
# All of it stands still for a moment at SIGTERM; 0 would mean to wait for ever.
DROP_AFTER_S = 0.3
# asyncio sets aside 256 KiB a TLS connection; a TLS record has 16 KiB.
TLS_BUFFER_BYTES = 32 * 1024
# What the portal does not know yet is still a refusal with a reason.
STATUS_OF_UNKNOWN_CODE = 409

log = logging.getLogger(__name__)


class Server:
    """Listens for the portal, and for nobody else: without the token every path answers alike."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._server: web.Server | None = None
        self._listener: asyncio.Server | None = None
        self._known: set[object] = set()
        self._sweeping: asyncio.Task[None] | None = None

    async def listen(self, *, host: str, port: int, pem: Path) -> int:
        """The port is open; which one it is. `host` "": all addresses. Raises OSError, ssl.SSLError."""
        sslproto.SSLProtocol.max_size = TLS_BUFFER_BYTES
        _allow_open_files()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(pem)
        # Sessions are not resumed: connections are kept alive instead.
        context.num_tickets = 0
        self._server = web.Server(self._answer, access_log=None, keepalive_timeout=KEEPALIVE_S)
        self._listener = await asyncio.get_running_loop().create_server(
            self._server,
            host or None,
            port,
            ssl=context,
            backlog=BACKLOG,
            ssl_handshake_timeout=HANDSHAKE_S,
        )
        self._sweeping = asyncio.create_task(self._sweep())
        bound: int = self._listener.sockets[0].getsockname()[1]
        return bound

    async def close(self) -> None:
        """The port is closed and every connection ended."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._listener is not None and self._server is not None:
            self._listener.close()
            await self._server.shutdown(DROP_AFTER_S)

    async def _sweep(self) -> None:
        """Strangers are cut off in time."""
        assert self._server is not None
        since_s: dict[web.RequestHandler, float] = {}
        while True:
            await asyncio.sleep(SWEEP_EVERY_S)
            now_s, here = asyncio.get_running_loop().time(), set(self._server.connections)
            self._known &= here
            since_s = {each: since_s.get(each, now_s) for each in here - self._known}
            too_many = len(since_s) - STRANGERS_MOST
            for place, each in enumerate(sorted(since_s, key=since_s.__getitem__)):
                if each.transport is not None and (place < too_many or now_s - since_s[each] >= STRANGER_S):
                    each.transport.abort()

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        try:
            return _json(await self._body(request), 200)
        except Refused as refused:
            refusal = refused.refusal
        except Malformed as error:
            refusal = Refusal("malformed", str(error)[:LONGEST_TEXT])
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:
            # Ours; the portal shows the reason at the node instead of a status without one.
            log.exception("request failed", extra={"path": request.path})
            refusal = Refusal("not_ready", f"the agent failed: {type(error).__name__}")
        return _json(dump_refusal(refusal), REFUSAL_STATUS.get(refusal.code, STATUS_OF_UNKNOWN_CODE))

    async def _body(self, request: web.BaseRequest) -> bytes:
        if not self._agent.accepts(request.headers.get("Authorization", "")):
            raise Refused("bad_token", "this is not the token of this node")
        self._known.add(request.protocol)
        method, path = request.method, request.rel_url.raw_path
        if (method, path) == ("GET", OBSERVATION_PATH):
            return dump_observation(await self._agent.observe())
        if (method, path) == ("GET", HEALTH_PATH):
            return dump_health(self._agent.health())
        if (method, path) == ("PUT", SETTINGS_PATH):
            mode = await self._agent.settle(parse_settings(await _read(request)))
            return dump_settings(Settings(mode))
        if method == "PUT" and path.startswith(BEFORE_UUID) and path.endswith(AFTER_UUID):
            uuid = unquote(path[len(BEFORE_UUID) : -len(AFTER_UUID)])
            return dump_applied(await self._agent.ensure(uuid, parse_order(await _read(request))))
        raise Refused("unknown_path", _printable(f"nothing is at {method} {path}"))


def _allow_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES_MOST if hard == resource.RLIM_INFINITY else min(FILES_MOST, hard)
    if soft != resource.RLIM_INFINITY and most > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


async def _read(request: web.BaseRequest) -> bytes:
    """The body. Raises Malformed before more than BODY_MOST_BYTES are held."""
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > BODY_MOST_BYTES:
            raise Malformed("body", f"more than {BODY_MOST_BYTES} bytes")
    return bytes(body)


def _printable(text: str) -> str:
    return "".join(sign for sign in text if sign.isprintable())


def _json(body: bytes, status: int) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")
