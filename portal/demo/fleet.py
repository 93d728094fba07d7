"""The demo fleet: 60 nodes with 3 GPU models in 9 islands, as a fleet file of our own layout."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class DemoIsland(NamedTuple):
    name: str
    site: str
    model: str
    nodes: int
    gpus_per_node: int


ISLANDS = [
    DemoIsland("oslo-h100-a", "oslo", "H100", 8, 8),
    DemoIsland("oslo-h100-b", "oslo", "H100", 8, 8),
    DemoIsland("oslo-h100-c", "oslo", "H100", 8, 8),
    DemoIsland("oslo-h100-d", "oslo", "H100", 2, 8),
    DemoIsland("oslo-h200-a", "oslo", "H200", 8, 8),
    DemoIsland("oslo-h200-b", "oslo", "H200", 6, 8),
    DemoIsland("turin-a100-a", "turin", "A100", 6, 8),
    DemoIsland("turin-a100-b", "turin", "A100", 6, 8),
    DemoIsland("turin-a100-c", "turin", "A100", 8, 4),
]


class DemoModel(NamedTuple):
    name: str
    memory_mib: int
    tdp_w: int
    price_per_gpu_hour: float


MODELS = [
    DemoModel("H100", 81_559, 700, 2.60),
    DemoModel("H200", 143_771, 700, 3.40),
    DemoModel("A100", 81_920, 400, 1.30),
]


class DemoNode(NamedTuple):
    """A row of a fleet file of our own layout."""

    name: str
    site: str
    island: str
    model: str
    gpus: int


def nodes() -> Iterator[DemoNode]:
    """Every node of the demo fleet."""
    for island in ISLANDS:
        for number in range(1, island.nodes + 1):
            yield DemoNode(f"{island.name}-{number:02}", island.site, island.name, island.model, island.gpus_per_node)


def write_fleet_file(path: Path) -> Path:
    """`path` holds the demo fleet."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(DemoNode._fields)
        writer.writerows(nodes())
    return path
