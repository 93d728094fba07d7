"""What pages, decisions and the executor ask about the facts; nothing here writes."""

from inventory.queries.addresses import address_of, addresses_of, polled_nodes
from inventory.queries.enrolment import (
    SHADOW_DAYS,
    enrolment_of,
    island_modes,
    missing_for_enforcement,
    with_agents,
    would_have_ended,
)
from inventory.queries.freshness import fresh_after, stale_after_s
from inventory.queries.health import Coming, Outage, Supply, coming, healthy_counts, outages, supply
from inventory.queries.nodes import (
    cordons_now,
    nodes_with_counts,
    recent_faults,
    units,
)
from inventory.queries.places import label_values, labels_of, units_with
from inventory.queries.use import is_busy, is_used, judged_as, use_is_known

__all__ = [
    "SHADOW_DAYS",
    "Coming",
    "Outage",
    "Supply",
    "address_of",
    "addresses_of",
    "coming",
    "cordons_now",
    "enrolment_of",
    "fresh_after",
    "healthy_counts",
    "is_busy",
    "is_used",
    "island_modes",
    "judged_as",
    "label_values",
    "labels_of",
    "missing_for_enforcement",
    "nodes_with_counts",
    "outages",
    "polled_nodes",
    "recent_faults",
    "stale_after_s",
    "supply",
    "units",
    "units_with",
    "use_is_known",
    "with_agents",
    "would_have_ended",
]
