"""The real processes of one portal with a state folder of its own: started, killed with -9, waited for."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
START_LIMIT_S = 300.0  # takes 10 s; many times that on two cores that do other work besides
LOOK_S = 0.1
PORTS = 28_000, 32_768


def until(what: str, holds: Callable[[], object], limit_s: float) -> float:
    """`holds()` became true; after how many seconds. Raises TimeoutError naming `what`."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > limit_s:
            raise TimeoutError(f"{what}: not within {limit_s:g} s")
        time.sleep(LOOK_S)
    return time.monotonic() - began


def free_port() -> int:
    """A port for later. Not one of those that Linux gives to outgoing connections, which come and go meanwhile."""
    while True:
        port = random.randrange(*PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Portal:
    """`manage.py up` from `home`; parts are named as their lock files: web, worker, beat, valkey, ..."""

    def __init__(self, home: Path, *, options: tuple[str, ...] = ("--simulate",), **env: str) -> None:
        self.home, self.options = home, options
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.env = {**os.environ, "ALLOT_HOME": str(home), "ALLOT_PORT": str(self.port), **env}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Every part is up and the health page answers."""
        log = (self.home / "drill-up.log").open("ab")
        command = [sys.executable, "manage.py", "up", *self.options]
        self._process = subprocess.Popen(
            command, cwd=CHECKOUT, env=self.env, stdout=log, stderr=log, start_new_session=True
        )
        log.close()
        until("the portal is ready", self._is_ready, START_LIMIT_S)

    def _is_ready(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise RuntimeError(f"manage.py up ended:\n{(self.home / 'drill-up.log').read_text()[-3000:]}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as probe:
            probe.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
            return b" 200 " in probe.recv(64) and self.pid("worker") is not None
        return False

    def command(self, *arguments: str) -> str:
        """What `manage.py` printed. Raises CalledProcessError."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=CHECKOUT,
            env=self.env,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def pid(self, part: str) -> int | None:
        """The process that runs `part`, None while nobody does."""
        try:
            noted = json.loads((self.home / "run" / f"{part}.lock").read_text())
        except (FileNotFoundError, ValueError):
            return None
        pid = noted.get("child")
        return pid if pid and Path(f"/proc/{pid}").exists() else None

    def kill(self, part: str) -> int:
        """The process that runs `part` was killed with -9; its pid."""
        pid = self.pid(part)
        assert pid is not None, f"{part} does not run"
        os.kill(pid, signal.SIGKILL)
        return pid

    def kill_supervisor(self) -> None:
        """The supervisor was killed with -9."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def left(self) -> list[int]:
        """Processes that still run from this state folder."""
        wanted = f"ALLOT_HOME={self.home}".encode()
        return [pid for pid in _pids() if pid != os.getpid() and wanted in _environment(pid).split(b"\0")]

    def is_running(self) -> bool:
        """True while the supervisor runs."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> float:
        """Ctrl-C; everything has ended. After how many seconds."""
        assert self._process is not None
        began = time.monotonic()
        self._process.send_signal(signal.SIGINT)
        self._process.wait(30)
        return time.monotonic() - began


@contextmanager
def running(portal: Portal, *, started: bool = False) -> Iterator[Portal]:
    """The portal runs until the block ends, however it ends."""
    try:
        if not started:
            portal.start()
        yield portal
    finally:
        if portal.is_running():
            portal.stop()


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
