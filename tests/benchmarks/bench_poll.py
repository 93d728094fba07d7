"""What one poll of a whole fleet costs a real worker: `python -m tests.benchmarks.bench_poll --nodes 777`.

Embedded services, a simulated fleet in a process of its own and a Celery worker with one slot. A poll is one message
`inventory.tasks.poll`, and it has ended when surveys of all nodes stand in the database. `worker_cpu_s` is the CPU of
the worker's processes for one poll, connections kept alive; the median of the polls. `store_s` is what storing a round
takes here, `copy_floor_s` a bare COPY of the same rows (readings and history) into tables without any index;
`db_bytes` what the round added to the database. One line on stdout, and one for judging and rolling up the same GPUs.
"""

# ruff: noqa: E402 - the services must run before settings are read
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import tests.services_plugin  # noqa: F401 - starts the services before settings are read

os.environ["DJANGO_SETTINGS_MODULE"] = "portal.settings"
os.environ["ALLOT_POLL_INTERVAL_S"] = "60"  # a slow machine's messages must not expire between the slices

import django

django.setup()

from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import Sum
from django.utils import timezone

from inventory import simulated
from inventory.judging import judge_units
from inventory.models import GpuModel, Node, Survey
from inventory.queries import polled_nodes
from inventory.rollups import recompute
from inventory.simulator import Control, gpu_uuid
from inventory.survey import SLICE_NODES, ask, store_survey
from portal.celery import app

LOG = Path(os.environ["ALLOT_HOME"]) / "bench.log"
CHECKOUT = Path(__file__).resolve().parents[2]
WORKER = (sys.executable, "-m", "celery", "-A", "portal", "worker", "-Q", "poll", "-c", "1", "-l", "warning")
QUIET = ("--without-gossip", "--without-mingle")
GPUS_PER_NODE = 8
POLLS = 5
STORES = 3
TEN_MINUTES = timedelta(minutes=10)
# The newest reading of each GPU, again each interval back in time.
MORE = """
INSERT INTO inventory_readinghistory (gpu_id, requested_at, holder, generation, draining, util_pct, mem_used_mib,
  power_w, temperature_c, running, util_peak_pct, engine_pct, energy_j)
SELECT gpu_id, requested_at - step * make_interval(secs => %(interval_s)s), holder, generation, draining, util_pct,
  mem_used_mib, power_w, temperature_c, running, util_peak_pct, engine_pct, energy_j - step * power_w * %(interval_s)s
FROM inventory_reading CROSS JOIN generate_series(1, %(steps)s) AS step ON CONFLICT DO NOTHING
"""
PATIENCE_S = 120
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=777)
    nodes = parser.parse_args().nodes
    call_command("migrate", verbosity=0)
    declare(nodes)
    with child(sys.executable, "manage.py", "simulate", "--base-port", "0"):
        wait(lambda: polled_nodes().count() == nodes)
        held = range(0, nodes * GPUS_PER_NODE, 2)
        uuids = [gpu_uuid(f"n{place // GPUS_PER_NODE}", place % GPUS_PER_NODE) for place in held]
        Control.of(simulated.state_folder()).seed_holders({uuid: (f"project-{uuid[4]}", 1) for uuid in uuids})
        with child(*WORKER, *QUIET) as worker:
            tell("first poll, cards appear", *measure(worker.pid, nodes))
            measured = [measure(worker.pid, nodes) for _ in range(1 + POLLS)][1:]
        storing = [store_once() for _ in range(STORES)]
    gpus, walls, cpus = zip(*measured, strict=True)
    wall_s, cpu_s = statistics.median(walls), statistics.median(cpus)
    assert set(gpus) == {nodes * GPUS_PER_NODE}, gpus
    sys.stdout.write(
        f"poll: gpus={gpus[0]} wall_s={wall_s:.2f} worker_cpu_s={cpu_s:.2f} store_s={min(storing)[0]:.2f} "
        f"copy_floor_s={min(copy_once() for _ in range(STORES)):.2f} db_bytes={min(storing)[1]} "
        f"rows_per_s={gpus[0] / wall_s:.0f}\n"
    )
    judge_and_roll_up()


def store_once() -> tuple[float, int]:
    """Seconds that storing one round takes, slice by slice, and the bytes that it adds."""
    seconds, before = 0.0, database_bytes()
    nodes = list(polled_nodes().order_by("pk"))
    for first in range(0, len(nodes), SLICE_NODES):
        started_at, answers = timezone.now(), ask(nodes[first : first + SLICE_NODES])
        began = time.perf_counter()
        store_survey(answers, started_at=started_at)
        seconds += time.perf_counter() - began
    return seconds, database_bytes() - before


def copy_once() -> float:
    """Seconds of a bare COPY, from values of this process, of what one round stores: into tables without any index."""
    seconds = 0.0
    newest = "inventory_readinghistory past JOIN inventory_reading now USING (gpu_id, requested_at)"
    with transaction.atomic(), connection.cursor() as cursor:
        for number, (table, rows) in enumerate(
            [("reading", "SELECT now.* FROM inventory_reading now"), ("readinghistory", f"SELECT past.* FROM {newest}")]
        ):
            cursor.execute(f"CREATE TABLE bare_{number} (LIKE inventory_{table})")
            cursor.execute(rows)
            values = [tuple(map(plain, row)) for row in cursor.fetchall()]
            began = time.perf_counter()
            with cursor.copy(f"COPY bare_{number} FROM STDIN") as copy:
                for row in values:
                    copy.write_row(row)
            seconds += time.perf_counter() - began
            cursor.execute(f"DROP TABLE bare_{number}")
    return seconds


def plain(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | list) else value


def judge_and_roll_up() -> None:
    """A quarter of an hour of readings in one, then what judging and rolling up take."""
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(MORE, {"interval_s": 30, "steps": 30})
        cursor.execute("ANALYZE inventory_readinghistory")
    timed = {}
    for name, work in (
        ("judge_s", lambda: judge_units(now=now)),
        ("judge_again_s", lambda: judge_units(now=timezone.now())),
        ("roll_up_s", lambda: recompute(now_floor(now) - TEN_MINUTES, now_floor(now))),
    ):
        began = time.perf_counter()
        done = work()
        timed[name] = time.perf_counter() - began
        tell_done = f"{name}={timed[name]:.2f}" + (f" gpus={done}" if name == "judge_s" else "")
        sys.stdout.write(("judge: " if name == "judge_s" else " ") + tell_done)
    sys.stdout.write("\n")


def now_floor(now: datetime) -> datetime:
    return now - timedelta(minutes=now.minute % 5, seconds=now.second, microseconds=now.microsecond)


def database_bytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return cursor.fetchone()[0]


def declare(nodes: int) -> None:
    model = GpuModel.objects.create(name="NVIDIA H100", memory_mib=81_559)
    Node.objects.bulk_create(
        Node(name=f"n{number}", model=model, expected_gpus=GPUS_PER_NODE) for number in range(nodes)
    )


def measure(worker: int, nodes: int) -> tuple[int, float, float]:
    """GPUs seen, seconds and CPU seconds of one poll."""
    last = Survey.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    fresh = Survey.objects.filter(pk__gt=last)
    began, before = time.perf_counter(), cpu_s(worker)
    app.send_task("inventory.tasks.poll", queue="poll")
    wait(lambda: fresh.aggregate(nodes=Sum("nodes_answered"))["nodes"] == nodes)
    wall_s = time.perf_counter() - began
    time.sleep(0.2)  # the worker says thanks to the broker; that belongs to the bill
    return fresh.aggregate(gpus=Sum("gpus_seen"))["gpus"], wall_s, cpu_s(worker) - before


def cpu_s(pid: int) -> float:
    """CPU seconds of the process and its children so far."""
    found = 0.0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if pid in (int(status.parent.name), int(fields[1])):
            found += (int(fields[11]) + int(fields[12])) / TICKS_PER_S
    return found


def tell(what: str, gpus: int, wall_s: float, worker_cpu_s: float) -> None:
    sys.stderr.write(f"{what}: gpus={gpus} wall_s={wall_s:.2f} worker_cpu_s={worker_cpu_s:.2f}\n")


def wait(condition) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"it did not happen in time; the last lines of {LOG}:\n{LOG.read_text()[-4000:]}")
        time.sleep(0.02)


@contextmanager
def child(*command: str):
    with LOG.open("a") as log:
        process = subprocess.Popen(command, cwd=CHECKOUT, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
