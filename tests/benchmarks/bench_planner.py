"""Prints how much CPU a plan takes: `python -m tests.benchmarks.bench_planner [FLEET.csv]`.

The fleet is 95 % in use with fragments, ended grants and projects that wind down on purpose everywhere, so that every
need has many donors to choose from: harder than life. FLEET is a file of nodes with the columns sn, gpu, model.
"""

import csv
import gc
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from allocations.planner import Need, Snapshot, Source, Unit, propose, propose_all

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)
ISLAND_NODES = 64  # as many nodes of one model share fast links where a fleet file does not say
KINDS = [(Source.FREE, 3), (Source.ENDED, 3), (Source.WINDING_DOWN, 4), (Source.HELD, 80)]
MIXED = 10  # percent of nodes that are broken up
OUT = 0.02  # share of nodes with one card that is out
RUNS = 3


def fleet(nodes: Iterable[tuple[str, str, int]], seed: int = 1) -> Snapshot:
    """A snapshot of nodes (name, model, GPUs) in use; equal seeds give equal fleets."""
    rng = random.Random(seed)
    units: list[Unit] = []
    seen = Counter[str]()
    for name, model, gpus in nodes:
        seen[model] += 1
        kind = rng.choices([*(source for source, _ in KINDS), None], [*(weight for _, weight in KINDS), MIXED])[0]
        project = f"p{rng.randrange(max(10, seen[model] // 7))}"
        out = int(rng.random() < OUT)
        promised, ends = NOW + timedelta(days=rng.choice([0, 0, 0, 20])), NOW + timedelta(days=rng.randrange(1, 90))
        dates = {Source.WINDING_DOWN: promised, Source.HELD: ends}
        for slot in range(gpus):
            source = kind or rng.choice([Source.FREE, Source.HELD, Source.ENDED])
            detail = "cordoned" if slot < out else ""
            units.append(
                Unit(
                    gpu_id=len(units) + 1,
                    uuid=f"GPU-{len(units) + 1}",
                    node=name,
                    node_gpus=gpus - out,
                    island=f"{model}-{(seen[model] - 1) // ISLAND_NODES}",
                    site="",
                    model=model,
                    labels=frozenset(),
                    source=Source.UNUSABLE if detail else source,
                    holder="" if source is Source.FREE else project,
                    grant_id=None,
                    running=0 if source is Source.FREE else rng.choice([0, 0, None, 3]),
                    seen_age_s=20.0,
                    releases_at=dates.get(source),
                    detail=detail,
                )
            )
    return Snapshot(tuple(units), generation=1, survey_id=1, taken_at=NOW)


def need(model: str, gpus: int, *, whole_nodes: bool, one_island: bool, grant_id: int = 1) -> Need:
    """A need of a new project."""
    return Need(grant_id, "asking", model, gpus, whole_nodes, one_island, frozenset(), NOW)


def show(line: str) -> None:
    """One line of figures."""
    sys.stdout.write(line + "\n")


def bench(title: str, units: Snapshot) -> None:
    """The best of some runs for needs of every size and shape, and 20 needs at once."""
    model, count = Counter(unit.model for unit in units.units).most_common(1)[0]
    show(f"{title}: gpus={len(units.units)} nodes={len({unit.node for unit in units.units})} asked_model_gpus={count}")
    for gpus in (8, 64, 256, 1024):
        for whole_nodes, one_island in ((False, False), (True, False), (False, True), (True, True)):
            asked = need(model, gpus, whole_nodes=whole_nodes, one_island=one_island)
            times = []
            for _ in range(RUNS):
                gc.collect()
                began = time.process_time()
                plan = propose(units, asked)
                times.append(time.process_time() - began)
            shape = plan.why.shape
            show(
                f"plan: gpus={gpus} whole_nodes={whole_nodes:d} one_island={one_island:d} "
                f"cpu_ms={min(times) * 1e3:.1f} found={len(plan.picks)} islands={shape.islands} donors={shape.donors}"
                f" proven={shape.fewest_donors:d}"
            )
    several = [need(model, 16, whole_nodes=at % 2 == 0, one_island=False, grant_id=at) for at in range(20)]
    began = time.process_time()
    plans = propose_all(units, several)
    took = time.process_time() - began
    show(f"plans: needs={len(plans)} cpu_ms={took * 1e3:.1f} short={sum(plan.short for plan in plans)}")


def main() -> None:
    """The fleet of the file, one of 6,216 GPUs and one of 100,000."""
    for path in sys.argv[1:]:
        with Path(path).open(newline="") as file:
            rows = [(row["sn"], row["model"], int(row["gpu"])) for row in csv.DictReader(file) if int(row["gpu"])]
        bench(Path(path).name, fleet(rows))
    bench("one model", fleet((f"n{at:05}", "H100", 8) for at in range(777)))
    bench("large", fleet((f"n{at:05}", "H100", 8) for at in range(12_500)))


if __name__ == "__main__":
    main()
