"""How a node joins: it makes its key, certificate and token, and tells the portal, which answers who it is."""

import json
import ssl
from dataclasses import dataclass, field
from hashlib import sha256
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from pathlib import Path
from secrets import token_urlsafe
from shutil import rmtree
from urllib.parse import urlsplit

from inventory.node_agent.certificate import fingerprint, make_certificate
from inventory.node_agent.enforce.orders_kept import write_durably
from inventory.node_agent.identity import Identity, Places, write_identity
from inventory.node_agent.tokens import first_token
from inventory.node_agent.version import VERSION

PORT = 8443
ENROL_PATH = "/api/enrol/"
# A portal under load; a person waits.
TIMEOUT_S = 30
# An answer names a node, or says in a sentence why not.
ANSWER_MOST_BYTES = 64 * 1024
TOKEN_BYTES = 32


class CannotJoin(Exception):
    """The portal said no, is not the right one, or was not reached; the text says it to a person."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody typed. `host`: how the portal reaches this node, "": by the address that reaches the portal.

    `portal_sha256`: of the portal's certificate, "": the system's authorities vouch for it.
    """

    portal: str
    code: str = field(repr=False)
    host: str = ""
    port: int = PORT
    portal_sha256: str = ""


def join(asked: Asked, places: Places) -> Identity:
    """The portal believes this node, and the agent starts as that. May be repeated with the same code until it is so.

    What the node will be is on disk before the portal hears of it; so an answer that is lost costs nothing.
    Raises CannotJoin, NoCertificate, OSError.
    """
    pem, token = _newcomer(places)
    connection = _connect(asked)
    try:
        host = asked.host or connection.sock.getsockname()[0]
        told = {
            "code": asked.code.strip(),
            "host": host,
            "port": asked.port,
            "certificate_sha256": fingerprint(pem),
            "token": token,
            "agent": VERSION,
        }
        answer = _ask(connection, urlsplit(asked.portal).path.rstrip("/") + ENROL_PATH, told)
    finally:
        connection.close()
    identity = Identity(str(answer["node"]), asked.portal, asked.port)
    # A second name for the file keeps it for root alone, and the try that is under way whole.
    beside = places.tls.with_suffix(".beside")
    beside.unlink(missing_ok=True)
    beside.hardlink_to(pem)
    beside.replace(places.tls)
    first_token(places.tokens, token)
    write_identity(places, identity)
    rmtree(places.joining)
    return identity


def _newcomer(places: Places) -> tuple[Path, str]:
    """The certificate and token of the try that is under way, or of a new one."""
    pem, noted = places.joining / "tls.pem", places.joining / "token"
    places.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    places.joining.mkdir(mode=0o700, exist_ok=True)
    if not noted.exists():
        make_certificate(pem)
        write_durably(noted, token_urlsafe(TOKEN_BYTES).encode(), lambda step: None)
    return pem, noted.read_text()


def _connect(asked: Asked) -> HTTPConnection:
    """An open connection to the portal that was meant. Raises CannotJoin."""
    url = urlsplit(asked.portal)
    if url.scheme not in ("https", "http") or not url.hostname:
        raise CannotJoin(f"{asked.portal} is no address such as https://allot.example")
    connection: HTTPConnection
    if url.scheme == "http":
        if not _is_here(url.hostname):
            raise CannotJoin("the code and the token would go in the clear: say https://")
        connection = HTTPConnection(url.hostname, url.port, timeout=TIMEOUT_S)
    else:
        context = ssl.create_default_context()
        if asked.portal_sha256:
            # The fingerprint vouches for it, checked below before anything is sent.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = HTTPSConnection(url.hostname, url.port, timeout=TIMEOUT_S, context=context)
    try:
        connection.connect()
    except ssl.SSLCertVerificationError as error:
        why = f"nobody that this system trusts vouches for the portal: {error.verify_message}"
        raise CannotJoin(f"{why}; give --portal-sha256, or add the authority to the system's") from error
    except OSError as error:
        raise CannotJoin(f"{asked.portal} is not reached: {error}") from error
    if asked.portal_sha256:
        _require_fingerprint(connection, asked.portal_sha256)
    return connection


def _require_fingerprint(connection: HTTPConnection, wanted: str) -> None:
    shown = connection.sock.getpeercert(binary_form=True) if isinstance(connection.sock, ssl.SSLSocket) else None
    digest = sha256(shown).hexdigest() if shown else ""
    if digest != wanted.replace(":", "").lower():
        connection.close()
        raise CannotJoin(f"another certificate than the one you named: its SHA-256 is {digest or 'none'}")


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _ask(connection: HTTPConnection, path: str, told: dict[str, object]) -> dict[str, object]:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    try:
        connection.request("POST", path, json.dumps(told), headers)
        response = connection.getresponse()
        body = response.read(ANSWER_MOST_BYTES)
    except (TimeoutError, OSError, HTTPException) as error:
        raise CannotJoin(f"the portal did not answer ({error}); the same command again finds out") from error
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise CannotJoin(f"that is not the portal: status {response.status}, and no JSON")
    if response.status != 200 or not isinstance(answer.get("node"), str):
        raise CannotJoin(f"the portal says: {answer.get('detail', response.status)} {answer.get('errors', '')}".strip())
    return answer
