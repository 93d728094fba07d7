"""The driver of nodes on which a site's own dcgm-exporter runs: it looks, and takes no orders."""

from datetime import UTC, datetime

from yarl import URL

from inventory.drivers.base import Applied, NodeAddress, Observed, Order, Settings
from inventory.drivers.connections import REQUEST_TIMEOUT_S, Connections
from inventory.drivers.dcgm_page import BadPage, read_page
from inventory.errors import BadAnswer, BadToken, NodeRefused, NodeUnreachable

PATH = "/metrics"


class DcgmDriver:
    """Reads exporters' pages; to be made inside the event loop that will use it."""

    def __init__(self, *, request_timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self._connections = Connections(request_timeout_s=request_timeout_s)

    async def observe(self, node: NodeAddress) -> Observed:
        """What the exporter says now; its page has no clock of its own, so the sequence is the portal's.

        Raises NodeUnreachable, BadAnswer, BadToken, CertificateMismatch.
        """
        requested_at = datetime.now(UTC)
        status, page = await self._connections.ask(node, "GET", _url(node))
        if status in (401, 403):
            raise BadToken(node.name, "the exporter does not accept the portal's token")
        if status != 200:
            raise BadAnswer(node.name, f"status {status}")
        try:
            observation = read_page(page, node=node.name, sequence=int(requested_at.timestamp() * 1e6))
        except BadPage as error:
            raise BadAnswer(node.name, str(error)) from error
        return Observed(observation, requested_at)

    async def ensure_unit(self, node: NodeAddress, uuid: str, order: Order) -> Applied:
        """Nothing is told to an exporter. Raises NodeRefused (`observes_only`), always."""
        raise NodeRefused(node.name, "a dcgm-exporter takes no orders; install the node agent", "observes_only")

    async def ensure_settings(self, node: NodeAddress, settings: Settings) -> None:
        """Nothing is told to an exporter. Raises NodeRefused (`observes_only`), always."""
        raise NodeRefused(node.name, "a dcgm-exporter has no mode; install the node agent", "observes_only")

    async def close(self) -> None:
        """All connections are closed."""
        await self._connections.close()


def _url(node: NodeAddress) -> URL:
    try:
        url = URL(node.address)
    except ValueError as error:
        raise NodeUnreachable(node.name, str(error)) from error
    if url.scheme == "http" and node.token:
        # The token would go in the clear.
        raise NodeUnreachable(node.name, "a token needs an address that starts with https://")
    return url if url.path.strip("/") else url.with_path(PATH)
