"""The ways in which PostgreSQL runs: as root by either way, as an ordinary user, from a long path."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from portal.services.clean import clean
from portal.services.home import CHECKOUT, Home
from tests.portal.services.runs import END_LIMIT_S, left, stand_in, started, until

pytestmark = pytest.mark.faults
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--")
SERVICES = {"SERVICES": "1"}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "home"
    Home(tmp_path / "home").remove()


def path_without(name: str, folder: Path) -> str:
    """A PATH on which the command is not found."""
    for command in {"sh", "setpriv", "unshare"} - {name}:
        (folder / command).symlink_to(shutil.which(command))
    return str(folder)


def whose(home: Path) -> int:
    """The owner of PostgreSQL's socket."""
    host = (home / "run" / "database_url").read_text().partition("?host=")[2]
    return Path(host, ".s.PGSQL.5432").stat().st_uid


@as_root
def test_root_without_user_namespaces_runs_postgres_as_nobody_and_keeps_its_data(home, open_folder):
    env = {**SERVICES, "PATH": path_without("unshare", open_folder)}
    with started(home, *stand_in("web=steady"), env=env) as run:
        run.until_said("allot: ready")
        url, owner = (home / "run" / "database_url").read_text(), whose(home)
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")

        run.end(signal.SIGKILL)
        until(lambda: not left(home), END_LIMIT_S)
        remaining = left(home)
        with started(home, *stand_in("web=steady"), env=env) as after:
            after.until_said("allot: ready")
            with psycopg.connect(url) as connection:
                answer = connection.execute("SELECT answer FROM kept").fetchone()
            after.end(signal.SIGINT)

    outside = Path((home / "outside").read_text())
    modes = [oct((outside / name).stat().st_mode & 0o777) for name in (".", "run", "data")]
    clean(Home(home))
    assert "run as nobody" in run.said
    assert (owner, answer, remaining, modes) == (65534, (42,), [], ["0o711", "0o700", "0o700"])
    assert (outside.exists(), home.exists()) == (False, False)


@as_root
def test_root_with_user_namespaces_keeps_the_data_in_the_state_folder(home):
    if subprocess.run(["unshare", "--user", "true"], capture_output=True, check=False).returncode:
        pytest.skip("user namespaces are refused here")

    with started(home, *stand_in("web=steady"), env=SERVICES) as run:
        run.until_said("allot: ready")

        assert f"run in a user namespace, data in {home}/postgres" in run.said
        assert not (home / "outside").exists()


@as_root
def test_an_ordinary_user_runs_it_all(open_folder):
    python = reachable_python()
    home = open_folder / "home"
    env = {**SERVICES, "PYTHONPATH": sysconfig.get_path("purelib"), "PYTHONDONTWRITEBYTECODE": "1"}
    home.mkdir()
    os.chown(home, 65534, 65534)

    with started(home, *stand_in("web=steady"), env=env, before=NOBODY, python=python) as run:
        run.until_said("allot: ready")
        said, owner = run.said, whose(home)
        took_s = run.end(signal.SIGINT)

    assert f"run as you, data in {home}/postgres" in said
    assert owner == 65534
    assert (run.popen.returncode, left(home)) == (0, [])
    assert took_s < END_LIMIT_S


def test_a_state_folder_with_a_long_path_gets_its_socket_elsewhere(tmp_path):
    home = tmp_path / ("long" * 25) / "home"
    home.parent.mkdir()

    with started(home, *stand_in("web=steady"), env=SERVICES) as run:
        run.until_said("allot: ready")
        url = (home / "run" / "database_url").read_text()
        folder = Path(url.partition("?host=")[2])
        mode = oct(folder.stat().st_mode & 0o777)
        with psycopg.connect(url) as connection:
            answer = connection.execute("SELECT 42").fetchone()
        run.end(signal.SIGINT)

    folder.rmdir()
    assert (answer, mode) == ((42,), "0o700")


def test_where_setpriv_is_missing_nothing_outlives_a_killed_supervisor_either(home, open_folder):
    env = {"PATH": path_without("setpriv", open_folder)}
    with started(home, *stand_in("web=steady", "worker=steady"), env=env) as run:
        run.until_said("allot: ready")
        running = len(left(home))

        run.end(signal.SIGKILL)
        until(lambda: not left(home), END_LIMIT_S)

        assert (running, left(home)) == (3, [])


def reachable_python() -> str:
    """An interpreter that nobody may run, with our packages in reach; skips where there is none."""
    probe = "import psycopg, redis, sys; print(sys.version_info[:2])"
    env = {"PYTHONPATH": sysconfig.get_path("purelib"), "PYTHONDONTWRITEBYTECODE": "1"}
    for python in (sys.executable, "/usr/bin/python3"):
        said = subprocess.run(
            [*NOBODY, python, "-c", probe], capture_output=True, text=True, env=env, cwd=CHECKOUT, check=False
        ).stdout
        if said.strip() == str(sys.version_info[:2]):
            return python
    return pytest.skip("no Python here that an ordinary user may run")
