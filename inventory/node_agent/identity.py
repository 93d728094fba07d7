"""Who this agent is: the node that it joined as, and the boot that its answers are counted in."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from uuid import uuid4

from inventory.node_agent.enforce.orders_kept import write_durably

MACHINE_BOOT = Path("/proc/sys/kernel/random/boot_id")


class NotJoined(Exception):
    """This node has not joined a portal, or what it kept of that cannot be read."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The node's name at the portal, the portal's address, and the port to listen on."""

    node: str
    portal: str
    port: int


@dataclass(frozen=True, slots=True)
class Places:
    """Where the agent keeps what it is. `identity` is written last: it says that the others are whole."""

    state: Path

    @property
    def identity(self) -> Path:
        """Who it is."""
        return self.state / "agent.json"

    @property
    def tls(self) -> Path:
        """Its key and certificate."""
        return self.state / "tls.pem"

    @property
    def tokens(self) -> Path:
        """The digests of the portal's tokens."""
        return self.state / "tokens.json"

    @property
    def joining(self) -> Path:
        """What it will be, until the portal has said yes."""
        return self.state / "joining"


def read_identity(places: Places) -> Identity:
    """Who this agent is. Raises NotJoined."""
    try:
        raw = json.loads(places.identity.read_text())
        return Identity(str(raw["node"]), str(raw["portal"]), int(raw["port"]))
    except FileNotFoundError as error:
        raise NotJoined("this node has not joined a portal: allot-agent join PORTAL --code CODE") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotJoined(f"{places.identity} cannot be read ({error}): join anew") from error


def write_identity(places: Places, identity: Identity) -> None:
    """That is who this agent is from its next start on. Raises OSError."""
    write_durably(places.identity, json.dumps(asdict(identity)).encode(), lambda step: None)


def new_boot_id() -> str:
    """An id for this run of the agent, whose first part is the machine's boot.

    New at each start, since answers are counted in memory: a proof is a later answer of one boot id, and must not lean
    on a count that a crash may have set back.
    """
    try:
        machine = MACHINE_BOOT.read_text().strip()
    except OSError:
        machine = str(uuid4())
    return f"{machine}.{token_hex(4)}"
