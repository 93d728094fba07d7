"""`manage.py up` as people start it: the real web, worker and beat on embedded services."""

import http.client
import signal
import socket
from pathlib import Path

import pytest

from tests.portal.services.runs import END_LIMIT_S, left, started, until

pytestmark = pytest.mark.faults


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def status(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_all_of_it_starts_survives_a_kill_and_ends_with_ctrl_c(tmp_path: Path, port: int):
    home, env = tmp_path / "home", {"ALLOT_PORT": str(port)}
    with started(home, "manage.py", "up", env=env) as run:
        run.until_said(f"allot: ready http://127.0.0.1:{port}/")
        health = status(port, "/healthz")
        with started(home, "manage.py", "up", env=env) as second:
            second.popen.wait(30)

        run.end(signal.SIGKILL)
        until(lambda: not left(home), END_LIMIT_S)
        remaining = left(home)
        with started(home, "manage.py", "up", env=env) as after:
            after.until_said(f"allot: ready http://127.0.0.1:{port}/")
            login = status(port, "/login/")
            took_s = after.end(signal.SIGINT)

        ended = left(home)

    assert (health, login) == (200, 200)
    assert second.said == (
        f"allot: Allot already runs from {home} (web, started by process {run.popen.pid}). "
        "Stop that one first, or set ALLOT_HOME to another folder for a second one.\n"
    )
    assert (second.popen.returncode, after.popen.returncode) == (1, 0)
    assert (remaining, ended) == ([], [])
    assert took_s < END_LIMIT_S


def test_a_taken_port_is_said_before_anything_starts(tmp_path: Path):
    home = tmp_path / "home"
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken = stranger.getsockname()[1]

        with started(home, "manage.py", "up", env={"ALLOT_PORT": str(taken)}) as run:
            run.popen.wait(30)

    assert run.said == (
        f"allot: The portal cannot listen on 127.0.0.1:{taken} (Address already in use): "
        "set ALLOT_PORT or ALLOT_HOST.\n"
    )
    assert [path.name for path in (home / "run").iterdir() if path.stat().st_size] == []
    assert list((home / "logs").iterdir()) == []


def test_one_part_alone_starts_without_the_others(tmp_path: Path):
    home = tmp_path / "home"
    with started(home, "manage.py", "up", "--only", "beat") as run:
        run.until_said(r"allot: ready \(beat\)")

        took_s = run.end(signal.SIGTERM)

    assert sorted(path.stem for path in (home / "logs").iterdir()) == ["beat", "postgres", "valkey"]
    assert (run.popen.returncode, left(home)) == (0, [])
    assert took_s < END_LIMIT_S
