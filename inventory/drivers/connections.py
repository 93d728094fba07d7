"""HTTP to nodes: kept alive, bounded in time and size, each node's certificate pinned; what fails has a name."""

import re
import sys
from contextlib import suppress

import aiohttp
from yarl import URL

from inventory.drivers.base import NodeAddress
from inventory.errors import BadAnswer, CertificateMismatch, NodeUnreachable

# A TCP and TLS handshake inside one site takes milliseconds; 3 s forgives one lost SYN (sent again after 1 s).
CONNECT_TIMEOUT_S = 3
# An agent answers from what its probe saw last, so an answer takes milliseconds too; 5 s is also what an agent gives
# one hung GPU. Longer would let a few hung nodes hold up a poll that comes every 10 to 15 s.
REQUEST_TIMEOUT_S = 5
# Longer than the time between two polls, or each poll pays a handshake a node (about 1 ms of CPU).
KEEPALIVE_S = 120
# A node of 128 units with 50 processes each says about 0.6 MB; more is not an observation.
ANSWER_MOST_BYTES = 4 * 1024 * 1024
# Before this version a connection to a hung node stays half closed for 30 s, and past the end of its loop.
TLS_CLOSE_WAITS_FOR_PEER = sys.version_info < (3, 12, 8)
SHA256_HEX = re.compile("[0-9a-fA-F]{64}")


class Connections:
    """The connections of one driver; to be made inside the event loop that will use them."""

    def __init__(self, *, request_timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0, keepalive_timeout=KEEPALIVE_S, enable_cleanup_closed=TLS_CLOSE_WAITS_FOR_PEER
            ),
            timeout=aiohttp.ClientTimeout(total=request_timeout_s, connect=min(CONNECT_TIMEOUT_S, request_timeout_s)),
            cookie_jar=aiohttp.DummyCookieJar(),
            # A compressed answer could unpack to any size.
            auto_decompress=False,
            headers={"Accept-Encoding": "identity"},
        )
        # aiohttp keeps a connection under its Fingerprint object, by identity: a new object would be a new handshake.
        self._pins: dict[str, aiohttp.Fingerprint] = {}

    async def ask(self, node: NodeAddress, method: str, url: URL, body: bytes | None = None) -> tuple[int, bytes]:
        """(status, body) of the answer. Over https the certificate must be the pinned one before the token is sent.

        Raises NodeUnreachable, BadAnswer, CertificateMismatch.
        """
        headers = {"Authorization": f"Bearer {node.token}"} if node.token else {}
        pinned = self._pin(node) if url.scheme == "https" else True
        try:
            async with self._session.request(
                method, url, data=body, headers=headers, ssl=pinned, allow_redirects=False
            ) as response:
                return response.status, await _read(node, response)
        except aiohttp.ServerFingerprintMismatch as error:
            raise CertificateMismatch(node.name, f"the node shows {error.got.hex()}") from error
        except aiohttp.ClientResponseError as error:
            raise BadAnswer(node.name, f"not HTTP ({type(error).__name__})") from error
        except TimeoutError as error:
            raise NodeUnreachable(node.name, "no answer in time") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # ValueError: an address or token that cannot stand in a request.
            # The whole of a connector's error names the pinned certificate by its place in memory.
            why = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
            raise NodeUnreachable(node.name, str(why) or type(why).__name__) from error

    async def close(self) -> None:
        """All connections are closed."""
        # asyncio of Python 3.11.2 cannot abort a TLS connection that the other side has just ended; it is closed then.
        with suppress(AttributeError):
            await self._session.close()

    def _pin(self, node: NodeAddress) -> aiohttp.Fingerprint:
        digest = node.certificate_sha256
        if digest not in self._pins:
            if not SHA256_HEX.fullmatch(digest):
                raise CertificateMismatch(node.name, "no SHA-256 of its certificate is known")
            self._pins[digest] = aiohttp.Fingerprint(bytes.fromhex(digest))
        return self._pins[digest]


async def _read(node: NodeAddress, response: aiohttp.ClientResponse) -> bytes:
    answer = bytearray()
    async for chunk in response.content.iter_any():
        answer += chunk
        if len(answer) > ANSWER_MOST_BYTES:
            raise BadAnswer(node.name, f"more than {ANSWER_MOST_BYTES} bytes")
    return bytes(answer)
