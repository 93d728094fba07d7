"""What storing one round of answers takes, beside the least that PostgreSQL can take for the same rows."""

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

from inventory.drivers import loop
from inventory.models import Node
from inventory.queries import polled_nodes
from inventory.survey import SLICE_NODES, ask, store_survey

# The tables that a round of readings goes to: the newest of each GPU, and the history.
CURRENT, HISTORY = "inventory_reading", "inventory_readinghistory"
ROUND = {CURRENT: f"SELECT * FROM {CURRENT}", HISTORY: f"SELECT * FROM {HISTORY} WHERE requested_at >= %s"}
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Stored(NamedTuple):
    """One whole round, in slices, and bare COPYs of it; CPU is this process's and its server process's."""

    store_s: float
    cpu_s: float
    copy_floor_s: float
    copy_cpu_s: float
    added_bytes: int


@dataclass
class Spent:
    """Seconds and CPU seconds so far."""

    wall_s: float = 0.0
    cpu_s: float = 0.0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """What the block takes is counted."""
        wall, cpu = time.perf_counter(), _cpu_s()
        yield
        self.wall_s += time.perf_counter() - wall
        self.cpu_s += _cpu_s() - cpu


def storing(rounds: int) -> Stored:
    """Rounds asked slice by slice and stored; only the storing is timed. The median of each figure."""
    nodes = list(polled_nodes().order_by("pk"))
    found = [_round(nodes) for _ in range(1 + rounds)][1:]
    loop.close()
    return Stored(*(statistics.median(figures) for figures in zip(*found, strict=True)))


def database_bytes() -> int:
    """The whole database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def _round(nodes: Sequence[Node]) -> Stored:
    began, before, store = timezone.now(), database_bytes(), Spent()
    for first in range(0, len(nodes), SLICE_NODES):
        started_at = timezone.now()
        answers = ask(nodes[first : first + SLICE_NODES])
        with store.counting():
            store_survey(answers, started_at=started_at)
    added, copy = database_bytes() - before, _bare_copies(began)
    return Stored(store.wall_s, store.cpu_s, copy.wall_s, copy.cpu_s, added)


def _bare_copies(since: datetime) -> Spent:
    """The round's rows into two empty ordinary tables with the columns, indexes and checks of the real ones."""
    copy = Spent()
    for table, rows in ROUND.items():
        with connection.cursor() as cursor, cursor.copy(f"COPY ({rows}) TO STDOUT", [since][: rows.count("%s")]) as out:
            said = b"".join(out)
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE bench_twin (LIKE {table} INCLUDING ALL)")
            with copy.counting(), cursor.copy("COPY bench_twin FROM STDIN") as twin:
                twin.write(said)
            cursor.execute("DROP TABLE bench_twin")
    return copy


def _cpu_s() -> float:
    connection.ensure_connection()
    status = Path(f"/proc/{connection.connection.info.backend_pid}/stat").read_text()
    fields = status.rpartition(")")[2].split()
    return time.process_time() + (int(fields[11]) + int(fields[12])) / TICKS_PER_S
