"""PostgreSQL and Valkey of their own for one pytest run, there before Django's settings are read.

A `-p` plugin: a conftest comes too late. DATABASE_URL and REDIS_URL name servers to use instead. The services die with
pytest however it ends; the folder that a killed run leaves is removed by the next run.
"""

import atexit
import fcntl
import os
import tempfile
import time
from pathlib import Path

from portal.services import postgres, valkey
from portal.services.children import Child, ChildSpec
from portal.services.home import Home

PREFIX = f"allot-tests-{os.geteuid()}-"
START_LIMIT_S = 60  # takes 1 s; the machine may be busy
STOP_LIMIT_S = 3


def start() -> None:
    """DATABASE_URL, REDIS_URL and ALLOT_HOME are set for this run, and what they name answers."""
    _sweep()
    home = Home(Path(tempfile.mkdtemp(prefix=PREFIX)))
    home.create()
    # Locked before it has its name: another run must not find it free.
    lock = os.open(home.root / "lock.new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    (home.root / "lock.new").rename(home.root / "pytest.lock")
    os.environ["ALLOT_HOME"] = str(home.root)
    children: list[Child] = []
    atexit.register(_stop, children, home, os.getpid())
    if not os.environ.get("REDIS_URL"):
        children.append(_start(valkey.prepare(home), home))
        os.environ["REDIS_URL"] = (home.run / "redis_url").read_text()
    if not os.environ.get("DATABASE_URL"):
        children.append(_start(postgres.prepare(home, durable=False), home))
        os.environ["DATABASE_URL"] = (home.run / "database_url").read_text()
    deadline_s = time.monotonic() + START_LIMIT_S
    for child in children:
        while child.spec.ready and not child.spec.ready():
            if child.ended() is not None or time.monotonic() > deadline_s:
                raise RuntimeError("\n".join([f"{child.spec.name} did not start:", *child.log.last_lines(20)]))
            time.sleep(0.02)


def _start(spec: ChildSpec, home: Home) -> Child:
    child = Child(spec, home)
    child.start(os.environ)
    return child


def _stop(children: list[Child], home: Home, pid: int) -> None:
    if os.getpid() != pid:  # a forked child of a test
        return
    for child in children:
        child.tell(child.spec.stop_signals[0])
    deadline_s = time.monotonic() + STOP_LIMIT_S
    while any(child.ended() is None for child in children) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    for child in children:
        child.kill()
    home.remove()


def _sweep() -> None:
    """What killed runs of this user left is gone; a run that lives holds its lock."""
    for root in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            lock = os.open(root / "pytest.lock", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue  # it just starts
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            Home(root).remove()
        except BlockingIOError:
            pass
        finally:
            os.close(lock)


start()
