"""What `manage.py up` runs: web, worker, beat, the simulated fleet, and the steps before them."""

import hashlib
import http.client
import os
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from portal.services import postgres, valkey
from portal.services.children import ChildSpec
from portal.services.errors import CannotStart
from portal.services.home import CHECKOUT, Home, write_private
from portal.services.supervisor import Run, Service

ONLY = ("web", "worker", "beat")
STOP_ORDER = ("beat", "simulator", "web", "worker")  # who makes work goes before who does it
HEALTH_PATH = "/healthz"
HEALTH_LIMIT_S = 2.0  # one query; a slow first answer is asked for again
GRACE_S = 1  # for open pages (live streams never end by themselves) within the 1.8 s that all parts have
WORKER_SLOTS = 2  # one for polls and one for applying on a small machine; more workers for more

SERVICES = (
    Service("valkey", "broker", "REDIS_URL", "redis_url", valkey.prepare, valkey.answers),
    Service("postgres", "database", "DATABASE_URL", "database_url", postgres.prepare, postgres.ensure_database),
)


def plan(home: Home, *, only: str | None, simulate: bool, demo: bool, migrate: bool) -> Run:
    """What to run for these options. Raises CannotStart where ALLOT_PORT is no port."""
    names = [only] if only else [*ONLY, *(["simulator"] if simulate else [])]
    specs = {"web": web, "worker": worker, "beat": beat, "simulator": simulator}
    host, port = web_address()
    return Run(
        services=SERVICES,
        steps=steps(home, names, demo=demo, migrate=migrate),
        parts=[specs[name](home) for name in names],
        # Who starts twice is told that, and not that a port is taken.
        require=lambda: require_free_port(host, port) if "web" in names else None,
        stop_order=STOP_ORDER,
        env={"PYTHONUNBUFFERED": "1", **({"ALLOT_DEMO": "1"} if demo else {})},
        welcome=lambda: welcome(home, names, demo=demo),
    )


def steps(home: Home, names: Sequence[str], *, demo: bool, migrate: bool) -> list[ChildSpec]:
    """Migrations and static files belong to the web part, so that two parts do not migrate against each other."""
    found = []
    if migrate and "web" in names:
        found.append(django("migrate", "migrate", "--noinput", about="bringing the tables up to date"))
    if migrate and "web" in names and not demo:
        found.append(django("install_defaults", "install_defaults", about="installing the shipped roles and policies"))
    if demo:  # it installs the defaults itself, at the time when its story begins
        found.append(django("seed_demo", "seed_demo", about="filling in the demo lab"))
    note, digest = home.root / "staticfiles.sha256", static_digest()
    if "web" in names and not ((home.root / "staticfiles").is_dir() and _text(note) == digest):
        collect = django("collectstatic", "collectstatic", "--noinput", about="collecting the static files")
        found.append(replace(collect, then=lambda: write_private(note, digest)))
    return found


def static_digest() -> str:
    """Changes with anything that the collected static files are made of."""
    sources = [CHECKOUT / "requirements.txt", *sorted(CHECKOUT.glob("*/static/**/*"))]
    facts = "\n".join(f"{path} {path.stat().st_mtime_ns} {path.stat().st_size}" for path in sources)
    return hashlib.sha256(facts.encode()).hexdigest()


def django(name: str, *arguments: str, about: str = "") -> ChildSpec:
    """A management command as a child."""
    return ChildSpec(name, (sys.executable, str(CHECKOUT / "manage.py"), *arguments), about=about)


def web(_home: Home) -> ChildSpec:
    """uvicorn with the portal; ready once the health page answers."""
    host, port = web_address()
    server = (sys.executable, "-m", "uvicorn", "portal.asgi:application", "--host", host, "--port", str(port))
    options = ("--lifespan", "off", "--no-access-log", "--timeout-graceful-shutdown", str(GRACE_S))
    if "FORWARDED_ALLOW_IPS" not in os.environ:  # uvicorn's own name; without a proxy anybody could claim an address
        options += ("--no-proxy-headers",)
    return ChildSpec("web", server + options, ready=lambda: is_healthy(host, port))


def worker(_home: Home) -> ChildSpec:
    """The Celery worker. SIGTERM lets it finish its tasks, SIGQUIT makes it give them back to the broker."""
    command = (sys.executable, "-m", "celery", "-A", "portal", "worker", "-Q", "poll,apply,default")
    options = ("-c", str(WORKER_SLOTS), "--without-gossip", "--without-mingle")
    return ChildSpec(
        "worker",
        command + options,
        stop_signals=(signal.SIGTERM, signal.SIGQUIT),
        # Nobody waits for its tasks any more, and the next start must not meet it.
        death_signal=signal.SIGQUIT,
    )


def beat(home: Home) -> ChildSpec:
    """Celery's clock; its last ticks are only a hint, so the file may be lost."""
    schedule = home.root / "beat"
    return ChildSpec(
        "beat", (sys.executable, "-m", "celery", "-A", "portal", "beat", "-s", str(schedule), "--pidfile=")
    )


def simulator(_home: Home) -> ChildSpec:
    """The simulated fleet."""
    return django("simulator", "simulate")


def web_address() -> tuple[str, int]:
    """ALLOT_HOST and ALLOT_PORT. Raises CannotStart."""
    port = os.environ.get("ALLOT_PORT") or "8000"
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise CannotStart(f"ALLOT_PORT is {port!r}; it must be a number from 1 to 65535.")
    return os.environ.get("ALLOT_HOST") or "127.0.0.1", int(port)


def require_free_port(host: str, port: int) -> None:
    """Raises CannotStart where somebody else listens."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise CannotStart(
            f"The portal cannot listen on {host}:{port} ({error.strerror}): set ALLOT_PORT or ALLOT_HOST."
        ) from error


def is_healthy(host: str, port: int) -> bool:
    """True if the portal's health page says so."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    connection = http.client.HTTPConnection(reachable, port, timeout=HEALTH_LIMIT_S)
    try:
        connection.request("GET", HEALTH_PATH, headers={"Host": "localhost"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def welcome(home: Home, names: Sequence[str], *, demo: bool) -> str:
    """The last lines at the start: where to go, and in the demo lab whom to log in as."""
    host, port = web_address()
    people = [_text(home.people).rstrip()] if demo and "web" in names else []
    where = f"http://{host}:{port}/" if "web" in names else f"({', '.join(names)})"
    return "\n".join([*people, f"ready {where}"])


def say(text: str) -> None:
    """Each line stands on the terminal with a prefix. A terminal that is gone is no reason to stop untidily."""
    for line in text.splitlines():
        try:
            print(f"allot: {line}", flush=True)
        except OSError:
            return


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
