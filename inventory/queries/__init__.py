"""What pages, decisions and the executor ask about the facts; nothing here writes."""

from inventory.queries.addresses import address_of, addresses_of, polled_nodes
from inventory.queries.arrivals import arrivals_over, arrivals_to_come
from inventory.queries.enrolment import (
    SHADOW_DAYS,
    enrolment_of,
    island_modes,
    missing_for_enforcement,
    with_agents,
    would_have_ended,
)
from inventory.queries.findings import (
    ENDED_DAYS,
    Cause,
    Trouble,
    ended_troubles,
    findings_of,
    place_of,
    standing,
    troubles,
)
from inventory.queries.freshness import fresh_after, stale_after_s
from inventory.queries.health import Coming, Outage, Supply, coming, healthy_counts, outages, supply
from inventory.queries.nodes import (
    cordons_now,
    nodes_with_counts,
    recent_faults,
    units,
)
from inventory.queries.places import islands, label_values, labels_of, nodes_at, units_with
from inventory.queries.polling import (
    Agents,
    Heartbeats,
    Polling,
    heartbeats,
    late_surveys,
    polling,
    unfit_agents,
)
from inventory.queries.use import VERDICT_FRESH_FOR, is_busy, is_used, judged_as, use_is_known
from inventory.queries.windows import NodesOut, cordons_of_act, cordons_standing, nodes_out

__all__ = [
    "ENDED_DAYS",
    "SHADOW_DAYS",
    "VERDICT_FRESH_FOR",
    "Agents",
    "Cause",
    "Coming",
    "Heartbeats",
    "NodesOut",
    "Outage",
    "Polling",
    "Supply",
    "Trouble",
    "address_of",
    "addresses_of",
    "arrivals_over",
    "arrivals_to_come",
    "coming",
    "cordons_now",
    "cordons_of_act",
    "cordons_standing",
    "ended_troubles",
    "enrolment_of",
    "findings_of",
    "fresh_after",
    "healthy_counts",
    "heartbeats",
    "is_busy",
    "is_used",
    "island_modes",
    "islands",
    "judged_as",
    "label_values",
    "labels_of",
    "late_surveys",
    "missing_for_enforcement",
    "nodes_at",
    "nodes_out",
    "nodes_with_counts",
    "outages",
    "place_of",
    "polled_nodes",
    "polling",
    "recent_faults",
    "stale_after_s",
    "standing",
    "supply",
    "troubles",
    "unfit_agents",
    "units",
    "units_with",
    "use_is_known",
    "with_agents",
    "would_have_ended",
]
