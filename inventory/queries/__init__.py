"""What pages, decisions and the executor ask about the facts; nothing here writes."""

from inventory.queries.addresses import address_of, addresses_of, polled_nodes
from inventory.queries.freshness import fresh_after, stale_after_s
from inventory.queries.health import Outage, healthy_counts, outages
from inventory.queries.nodes import (
    NodeCounts,
    cordons_now,
    gpus_of,
    node_counts,
    nodes_with_counts,
    recent_faults,
    short_nodes,
    silent_nodes,
    units,
)
from inventory.queries.tiles import Tile, fleet_tiles

__all__ = [
    "NodeCounts",
    "Outage",
    "Tile",
    "address_of",
    "addresses_of",
    "cordons_now",
    "fleet_tiles",
    "fresh_after",
    "gpus_of",
    "healthy_counts",
    "node_counts",
    "nodes_with_counts",
    "outages",
    "polled_nodes",
    "recent_faults",
    "short_nodes",
    "silent_nodes",
    "stale_after_s",
    "units",
]
