"""Each pytest run has services of its own, which go with it however it ends."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from portal.services.home import CHECKOUT
from tests.portal.services.runs import END_LIMIT_S, left, until
from tests.services_plugin import PREFIX

pytestmark = pytest.mark.faults
RUN = (
    "import os, sys, time; from tests import services_plugin; "
    "print(os.environ['ALLOT_HOME'], os.environ['DATABASE_URL'], flush=True); sys.stdin.read()"
)


def other_run(**env: str) -> subprocess.Popen[str]:
    """What another pytest run does with the plugin; it ends when its input does."""
    clean = {key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "REDIS_URL", "ALLOT_HOME"}}
    return subprocess.Popen(
        [sys.executable, "-c", RUN],
        env={**clean, **env},
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_two_runs_at_once_have_databases_of_their_own_and_leave_nothing():
    with other_run() as first, other_run() as second:
        found = [run.stdout.readline().split() for run in (first, second)]
        homes, urls = zip(*found, strict=True)
        names = []
        for url in urls:
            with psycopg.connect(url) as connection:
                names.append(connection.execute("SHOW data_directory").fetchone()[0])

        for run in (first, second):
            run.stdin.close()
            run.wait(END_LIMIT_S)

    assert len(set(names)) == 2
    assert [(left(Path(home)), Path(home).exists()) for home in homes] == [([], False), ([], False)]


def test_a_killed_run_leaves_no_process_and_the_next_one_takes_its_folder_away():
    with other_run() as killed:
        home = Path(killed.stdout.readline().split()[0])
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        until(lambda: not left(home), END_LIMIT_S)
        remaining, kept = left(home), home.exists()

    with other_run() as following:
        following.stdout.readline()
        gone = not home.exists()
        following.stdin.close()
        following.wait(END_LIMIT_S)

    assert home.parent == Path(tempfile.gettempdir())
    assert home.name.startswith(PREFIX)
    assert (remaining, kept, gone) == ([], True, True)


def test_servers_named_in_the_environment_are_used():
    real = {name: os.environ[name] for name in ("DATABASE_URL", "REDIS_URL")}
    with other_run(**real) as run:
        home, url = run.stdout.readline().split()
        started = [path.name for path in (Path(home) / "logs").iterdir()]
        run.stdin.close()
        run.wait(END_LIMIT_S)

    assert (url, started) == (real["DATABASE_URL"], [])
