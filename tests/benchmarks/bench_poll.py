"""What one poll of a whole fleet costs a real worker: `python -m tests.benchmarks.bench_poll --nodes 777`.

Embedded services, simulated agents in processes of their own and a Celery worker with one slot. A poll is one message
a slice, and it has ended when surveys of all nodes stand in the database. `worker_cpu_s` is the CPU of
the worker's processes for one poll, connections kept alive; the median of the polls. `store_s` is what storing a round
takes here, `copy_floor_s` a bare COPY of the same rows into ordinary tables with the same columns and indexes;
`store_cpu_s` and `copy_cpu_s` are the CPU of client and server for the same, which other work on the machine does not
draw out. `db_bytes` is the whole database, `round_bytes` what a round adds to it. One line on stdout, and one for
judging and rolling up the same GPUs.
"""

# ruff: noqa: E402 - the services must run before settings are read
import argparse
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

import tests.services_plugin  # noqa: F401 - starts the services before settings are read

os.environ["DJANGO_SETTINGS_MODULE"] = "portal.settings"
os.environ["ALLOT_POLL_INTERVAL_S"] = "600"  # a slow machine's messages must not expire between the slices

import django

django.setup()

from django.core.management import call_command
from django.db.models import Sum
from django.utils import timezone

from inventory.models import GpuModel, Node, Survey
from inventory.survey import slices_in_turn
from portal.celery import app
from portal.services.tether import tethered
from tests.benchmarks.poll_agents import MODEL, Agent, agents, allow_open_files
from tests.benchmarks.poll_judging import judge_and_roll_up
from tests.benchmarks.poll_storing import database_bytes, storing

HOME = Path(os.environ["ALLOT_HOME"])
LOG = HOME / "bench.log"
CHECKOUT = Path(__file__).resolve().parents[2]
WORKER = (sys.executable, "-m", "celery", "-A", "portal", "worker", "-Q", "poll", "-l", "warning")
QUIET = ("--without-gossip", "--without-mingle")
GPUS_PER_NODE = 8
PATIENCE_S = 1200  # a large fleet on a busy machine
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=777)
    parser.add_argument("--slots", type=int, default=1, help="of the worker; a small machine's has two")
    parser.add_argument("--rounds", type=int, default=3, help="that are measured, after one to warm up")
    asked = parser.parse_args()
    allow_open_files()
    call_command("migrate", verbosity=0)
    with agents(asked.nodes, gpus=GPUS_PER_NODE, folder=HOME / "agents") as there:
        declare(there)
        with child(*WORKER, *QUIET, "-c", str(asked.slots)) as worker:
            tell("first poll, cards appear", *measure(worker.pid))
            measured = [measure(worker.pid) for _ in range(1 + asked.rounds)][1:]
            memory_mib = resident_mib(worker.pid)
        stored = storing(asked.rounds)
    gpus, walls, cpus = zip(*measured, strict=True)
    wall_s, cpu_s = statistics.median(walls), statistics.median(cpus)
    assert min(gpus) > 0.99 * asked.nodes * GPUS_PER_NODE, gpus
    sys.stdout.write(
        f"poll: gpus={gpus[0]} wall_s={wall_s:.2f} worker_cpu_s={cpu_s:.2f} store_s={stored.store_s:.2f} "
        f"copy_floor_s={stored.copy_floor_s:.2f} db_bytes={database_bytes()} rows_per_s={gpus[0] / wall_s:.0f} "
        f"store_cpu_s={stored.cpu_s:.2f} copy_cpu_s={stored.copy_cpu_s:.2f} "
        f"round_bytes={stored.added_bytes:.0f} worker_mib={memory_mib:.0f}\n"
    )
    sys.stdout.write(judge_and_roll_up() + "\n")


def declare(agents: Sequence[Agent]) -> None:
    model = GpuModel.objects.create(name=MODEL, memory_mib=81_559)
    Node.objects.bulk_create(
        Node(
            name=agent.name,
            model=model,
            expected_gpus=GPUS_PER_NODE,
            address=agent.address,
            token=agent.token,
            certificate_sha256=agent.certificate_sha256,
        )
        for agent in agents
    )


def measure(worker: int) -> tuple[int, float, float]:
    """GPUs seen, seconds and CPU seconds of one poll. On a busy machine a node or two may not answer in time."""
    last = Survey.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    fresh = Survey.objects.filter(pk__gt=last)
    began, before = time.perf_counter(), cpu_s(worker)
    # As `inventory.tasks.poll` does it, but at once: the slices' random starts are no cost.
    slices = slices_in_turn(now=timezone.now())
    for slice_no in slices:
        app.send_task("inventory.tasks.poll_slice", (slice_no, len(slices)), queue="poll")
    # Not by nodes: one that was silent for long is not asked each time.
    wait(lambda: fresh.count() == len(slices))
    wall_s = time.perf_counter() - began
    time.sleep(0.2)  # the worker says thanks to the broker; that belongs to the bill
    return fresh.aggregate(gpus=Sum("gpus_seen"))["gpus"], wall_s, cpu_s(worker) - before


def cpu_s(pid: int) -> float:
    """CPU seconds of the process and its children so far, those that ended too."""
    spent = sum(sum(fields[11:15] if own else fields[11:13]) for own, fields in family(pid))
    return spent / TICKS_PER_S


def resident_mib(pid: int) -> float:
    """Memory of the process and its children."""
    return sum(fields[21] for _own, fields in family(pid)) * os.sysconf("SC_PAGE_SIZE") / 2**20


def family(pid: int) -> list[tuple[bool, list[int]]]:
    """Of it and each child: whether it is the process itself, the numbers of proc_pid_stat(5) from its state on."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if pid in (int(status.parent.name), int(fields[1])):
            found.append((int(status.parent.name) == pid, [0, *map(int, fields[1:])]))
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
        process = subprocess.Popen(tethered(command, death_signal=signal.SIGTERM), cwd=CHECKOUT, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
