"""The demo fleet: 60 nodes, 3 GPU models, 9 islands, as a fleet file of our own layout."""

from typing import NamedTuple


class DemoIsland(NamedTuple):
    name: str
    site: str
    model: str
    nodes: int
    gpus_per_node: int
    memory_mib: int


ISLANDS = [
    DemoIsland("oslo-h100-a", "oslo", "H100", 8, 8, 81_559),
    DemoIsland("oslo-h100-b", "oslo", "H100", 8, 8, 81_559),
    DemoIsland("oslo-h100-c", "oslo", "H100", 8, 8, 81_559),
    DemoIsland("oslo-h100-d", "oslo", "H100", 8, 8, 81_559),
    DemoIsland("oslo-h200-a", "oslo", "H200", 8, 8, 143_771),
    DemoIsland("oslo-h200-b", "oslo", "H200", 6, 8, 143_771),
    DemoIsland("turin-a100-a", "turin", "A100", 6, 8, 81_920),
    DemoIsland("turin-a100-b", "turin", "A100", 6, 8, 81_920),
    DemoIsland("turin-a100-c", "turin", "A100", 2, 4, 40_960),
]
