"""The supervisor with real processes: order, refusal of a second start, sudden deaths."""

import os
import signal
from pathlib import Path

import psycopg
import pytest
import redis

from portal.services.claims import started_ticks
from portal.services.clean import clean
from portal.services.errors import AlreadyRunning
from portal.services.home import Home
from tests.portal.services.runs import END_LIMIT_S, left, stand_in, started, until

pytestmark = pytest.mark.faults
FOUR = ("web=steady", "worker=steady", "beat=steady", "simulator=steady")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def child(home: Path, name: str) -> int:
    """The number of the process that now runs the part."""
    text = (home / "run" / f"{name}.lock").read_text()
    return int(text.partition('"child": ')[2].partition(",")[0])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_signal_ends_the_parts_in_order_and_leaves_nothing(home, number):
    with started(home, *stand_in(*FOUR)) as run:
        run.until_said("allot: ready")

        took_s = run.end(number)

        ends = [note for note in (home / "notes").read_text().splitlines() if note.startswith("end")]
        assert ends == ["end beat", "end simulator", "end web", "end worker"]
        assert (run.popen.returncode, left(home)) == (0, [])
        assert took_s < END_LIMIT_S


def test_a_run_that_a_script_started_in_the_background_still_hears_ctrl_c(home):
    with started(home, *stand_in("web=steady"), before=("sh", "-c", 'trap "" INT; exec "$@"', "sh")) as run:
        run.until_said("allot: ready")

        took_s = run.end(signal.SIGINT)

        assert (run.popen.returncode, left(home)) == (0, [])
        assert took_s < END_LIMIT_S


def test_ctrl_c_reaches_the_supervisor_alone(home):
    with started(home, *stand_in("web=steady"), start_new_session=True) as run:
        run.until_said("allot: ready")
        sessions = {os.getsid(pid) for pid in left(home) if pid != run.popen.pid}

        os.killpg(run.popen.pid, signal.SIGINT)
        run.popen.wait(END_LIMIT_S)

        assert run.popen.pid not in sessions
        assert (home / "notes").read_text().splitlines() == ["start web", "end web"]


def test_who_does_not_listen_is_killed_with_all_it_started_within_five_seconds(home):
    with started(home, *stand_in("web=stubborn", "worker=stubborn")) as run:
        run.until_said("allot: ready")
        running = len(left(home))

        took_s = run.end(signal.SIGINT)

        assert (running, left(home)) == (5, [])  # the supervisor, two parts, a child of each
        assert took_s < END_LIMIT_S


def test_a_second_start_is_refused_while_one_runs_and_works_after_it(home):
    with started(home, *stand_in("web=steady")) as first:
        first.until_said("allot: ready")

        with started(home, *stand_in("web=steady", "beat=steady")) as second:
            second.popen.wait(20)
            refusal, code = second.said, second.popen.returncode
        alive = first.popen.poll() is None
        first.end(signal.SIGTERM)
        with started(home, *stand_in("web=steady")) as third:
            third.until_said("allot: ready")

    assert code == 1
    assert refusal == (
        f"Allot already runs from {home} (web, started by process {first.popen.pid}). "
        "Stop that one first, or set ALLOT_HOME to another folder for a second one.\n"
    )
    assert alive


def test_a_state_folder_from_which_something_runs_is_not_cleaned_away(home):
    with started(home, *stand_in("web=steady")) as run:
        run.until_said("allot: ready")

        with pytest.raises(AlreadyRunning):
            clean(Home(home))
        kept = (home / "notes").exists()
        run.end(signal.SIGTERM)
        clean(Home(home))

        assert (kept, home.exists()) == (True, False)


def test_a_killed_supervisor_leaves_no_process_and_the_next_start_finds_its_data(home):
    with started(home, *stand_in(*FOUR), env={"SERVICES": "1"}) as run:
        run.until_said("allot: ready")
        url = (home / "run" / "database_url").read_text()
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")

        run.end(signal.SIGKILL)
        until(lambda: not left(home), END_LIMIT_S)
        remaining = left(home)
        with started(home, *stand_in(*FOUR), env={"SERVICES": "1"}) as after:
            after.until_said("allot: ready")
            with psycopg.connect((home / "run" / "database_url").read_text()) as connection:
                answer = connection.execute("SELECT answer FROM kept").fetchone()
            took_s = after.end(signal.SIGINT)

        assert remaining == []
        assert answer == (42,)
        assert (after.popen.returncode, left(home)) == (0, [])
        assert took_s < END_LIMIT_S


def test_a_start_right_after_a_kill_ends_what_outlived_it(home):
    with started(home, *stand_in("worker=stubborn")) as run:
        run.until_said("allot: ready")
        outlived = child(home, "worker")
        run.end(signal.SIGKILL)
        before = started_ticks(outlived)

        with started(home, *stand_in("worker=steady")) as after:
            after.until_said("allot: ready")

            assert before is not None
            assert started_ticks(outlived) is None


def test_what_falls_over_is_started_again_and_its_error_is_shown(home):
    with started(home, *stand_in("web=fragile")) as run:
        run.until_said("allot: ready")

        lines = run.said.splitlines()

    assert lines[1:3] == [
        "allot: web: CRITICAL: fell over",
        f"allot: web ended with status 1; starting it again in 0.5 s (see {home}/logs/web.log)",
    ]


def test_what_cannot_start_ends_the_run_with_the_reason(home):
    with started(home, *stand_in("worker=steady", "web=broken")) as run:
        run.popen.wait(30)

        said = run.said

    assert run.popen.returncode == 1
    assert said.splitlines()[-1] == "RuntimeError: no such thing as a web server"
    assert f"web does not stay up. The end of {home}/logs/web.log:" in said
    assert left(home) == []


def test_the_children_of_a_killed_part_go_with_it(home):
    with started(home, *stand_in("worker=parent")) as run:
        run.until_said("allot: ready")
        worker = child(home, "worker")
        before = set(left(home)) - {run.popen.pid}

        os.kill(worker, signal.SIGKILL)
        until(lambda: child(home, "worker") != worker and len(left(home)) == 3, END_LIMIT_S)

        after = set(left(home)) - {run.popen.pid}
        assert (len(before), len(after)) == (2, 2)
        assert before & after == set()


def test_killed_services_come_back_at_the_same_address(home):
    with started(home, *stand_in("web=steady"), env={"SERVICES": "1"}) as run:
        run.until_said("allot: ready")
        database, broker = ((home / "run" / name).read_text() for name in ("database_url", "redis_url"))
        killed = [child(home, name) for name in ("postgres", "valkey")]

        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        until(lambda: answers(database, broker), 20)

        assert answers(database, broker)
        assert {child(home, name) for name in ("postgres", "valkey")} & set(killed) == set()


def test_a_part_alone_uses_the_services_that_already_run_from_its_folder(home):
    with started(home, *stand_in("web=steady"), env={"SERVICES": "1"}) as first:
        first.until_said("allot: ready")
        services = [child(home, name) for name in ("postgres", "valkey")]

        with started(home, *stand_in("worker=steady"), env={"SERVICES": "1"}) as second:
            second.until_said("allot: ready")
            said = second.said.splitlines()
            second.end(signal.SIGTERM)

        assert said == [
            f"allot: broker: the embedded one that already runs from {home}",
            f"allot: database: the embedded one that already runs from {home}",
            "allot: starting worker",
            "allot: ready",
        ]
        assert [child(home, name) for name in ("postgres", "valkey")] == services
        assert first.popen.poll() is None


def test_real_servers_are_used_instead_of_the_embedded_ones(home):
    real = {"SERVICES": "1", "DATABASE_URL": os.environ["DATABASE_URL"], "REDIS_URL": os.environ["REDIS_URL"]}
    with started(home, *stand_in("web=steady"), env=real) as run:
        run.until_said("allot: ready")

        assert run.said.splitlines() == [
            "allot: broker: the one that REDIS_URL names",
            "allot: database: the one that DATABASE_URL names",
            "allot: starting web",
            "allot: ready",
        ]
        assert sorted(path.name for path in (home / "run").iterdir()) == ["web.lock"]


def answers(database: str, broker: str) -> bool:
    client = redis.Redis.from_url(broker)
    try:
        with psycopg.connect(database):
            return bool(client.ping())
    except (psycopg.OperationalError, redis.RedisError):
        return False
    finally:
        client.close()
