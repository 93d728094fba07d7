"""The driver of nodes that run the node agent: HTTPS, kept alive, each node's certificate pinned."""

from datetime import UTC, datetime

from yarl import URL

from inventory.drivers.base import NodeAddress, Observed
from inventory.drivers.connections import REQUEST_TIMEOUT_S, Connections
from inventory.errors import BadAnswer, BadToken, NodeRefused, NodeUnreachable
from inventory.node_agent.protocol import (
    OBSERVATION_PATH,
    SETTINGS_PATH,
    Applied,
    Malformed,
    Order,
    Settings,
    dump_order,
    dump_settings,
    holder_path,
    parse_applied,
    parse_observation,
    parse_refusal,
    parse_settings,
)


class AgentDriver:
    """Speaks to node agents; to be made inside the event loop that will use it."""

    def __init__(self, *, request_timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self._connections = Connections(request_timeout_s=request_timeout_s)

    async def observe(self, node: NodeAddress) -> Observed:
        """What the node sees now. Raises NodeUnreachable, NodeRefused, BadAnswer, BadToken, CertificateMismatch."""
        requested_at = datetime.now(UTC)
        body = await self._ask(node, "GET", OBSERVATION_PATH, None)
        try:
            return Observed(parse_observation(body), requested_at)
        except Malformed as error:
            raise BadAnswer(node.name, str(error)) from error

    async def ensure_unit(self, node: NodeAddress, uuid: str, order: Order) -> Applied:
        """The agent has accepted `order` for GPU `uuid`; repeats do no harm.

        Raises NodeUnreachable, NodeRefused (`older_generation`, `generation_conflict`, `unknown_gpu`, `gpu_lost`),
        BadAnswer, BadToken, CertificateMismatch.
        """
        body = await self._ask(node, "PUT", holder_path(uuid), dump_order(order))
        try:
            applied = parse_applied(body)
        except Malformed as error:
            raise BadAnswer(node.name, str(error)) from error
        if applied.generation != order.generation:
            raise BadAnswer(node.name, f"generation: {applied.generation} for an order of {order.generation}")
        return applied

    async def ensure_settings(self, node: NodeAddress, settings: Settings) -> None:
        """The agent works in that mode, and accepts the new token where there is one; repeats do no harm.

        Raises NodeUnreachable, NodeRefused (`observes_only`, `not_ready`), BadAnswer, BadToken, CertificateMismatch.
        """
        body = await self._ask(node, "PUT", SETTINGS_PATH, dump_settings(settings))
        try:
            mode = parse_settings(body).mode
        except Malformed as error:
            raise BadAnswer(node.name, str(error)) from error
        if mode != settings.mode:
            raise BadAnswer(node.name, f"mode: {mode} where {settings.mode} was told")

    async def close(self) -> None:
        """All connections are closed."""
        await self._connections.close()

    async def _ask(self, node: NodeAddress, method: str, path: str, body: bytes | None) -> bytes:
        if not node.address.startswith("https://"):
            # aiohttp checks no fingerprint without TLS and would send the token in the clear.
            raise NodeUnreachable(node.name, "the address must start with https://")
        url = _url(node, path)
        status, answer = await self._connections.ask(node, method, url, body)
        if status != 200:
            raise _refused(node, status, answer)
        return answer


def _url(node: NodeAddress, path: str) -> URL:
    try:
        return URL(node.address.rstrip("/") + path, encoded=True)
    except ValueError as error:
        raise NodeUnreachable(node.name, str(error)) from error


def _refused(node: NodeAddress, status: int, answer: bytes) -> BadToken | BadAnswer | NodeRefused:
    if status == 401:
        return BadToken(node.name, "the node does not accept the portal's token")
    try:
        refusal = parse_refusal(answer)
    except Malformed:
        return BadAnswer(node.name, f"status {status} without a reason")
    return NodeRefused(node.name, refusal.detail or refusal.code, refusal.code, refusal.generation)
