"""What one poll of a whole fleet costs a real worker: `python -m tests.benchmarks.bench_poll --nodes 777`.

Embedded services, a simulated fleet in a process of its own and a Celery worker with one slot. A poll is one message
`inventory.tasks.poll`, and it has ended when surveys of all nodes stand in the database. `worker_cpu_s` is the CPU of
the worker's processes for one poll, connections kept alive; the median of the polls. One line on stdout.
"""

# ruff: noqa: E402 - the services must run before settings are read
import argparse
import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import tests.services_plugin  # noqa: F401 - starts the services before settings are read

os.environ["DJANGO_SETTINGS_MODULE"] = "portal.settings"
os.environ["ALLOT_POLL_INTERVAL_S"] = "60"  # a slow machine's messages must not expire between the slices

import django

django.setup()

from django.core.management import call_command
from django.db.models import Sum

from inventory import simulated
from inventory.models import GpuModel, Node, Survey
from inventory.queries import polled_nodes
from inventory.simulator import Control, gpu_uuid
from portal.celery import app

LOG = Path(os.environ["ALLOT_HOME"]) / "bench.log"
CHECKOUT = Path(__file__).resolve().parents[2]
WORKER = (sys.executable, "-m", "celery", "-A", "portal", "worker", "-Q", "poll", "-c", "1", "-l", "warning")
QUIET = ("--without-gossip", "--without-mingle")
GPUS_PER_NODE = 8
POLLS = 5
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
    gpus, walls, cpus = zip(*measured, strict=True)
    wall_s, cpu_s = statistics.median(walls), statistics.median(cpus)
    assert set(gpus) == {nodes * GPUS_PER_NODE}, gpus
    sys.stdout.write(
        f"poll: gpus={gpus[0]} wall_s={wall_s:.2f} worker_cpu_s={cpu_s:.2f} rows_per_s={gpus[0] / wall_s:.0f}\n"
    )


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
