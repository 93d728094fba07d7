"""The wire between the portal and a node: what a node says it sees, and what it is told about one GPU.

HTTPS and JSON, `Authorization: Bearer <token of the node>`, the node's certificate pinned by its SHA-256:
`GET /v1/observation`, `PUT /v1/gpus/{uuid}/holder`, `GET /v1/health`. Standard library only: a node has no Django.
Fields that a reader does not know are passed over, so that either side may be updated first.
"""

from urllib.parse import quote

from inventory.node_agent.protocol.fields import PROTOCOL, Malformed
from inventory.node_agent.protocol.observations import (
    IMPLAUSIBLE,
    dump_health,
    dump_observation,
    parse_health,
    parse_observation,
)
from inventory.node_agent.protocol.orders import (
    REFUSAL_STATUS,
    dump_applied,
    dump_order,
    dump_refusal,
    parse_applied,
    parse_order,
    parse_refusal,
)
from inventory.node_agent.protocol.values import (
    Applied,
    Eviction,
    GpuSeen,
    Health,
    Observation,
    Order,
    ProcessSeen,
    Refusal,
    Value,
)

HEALTH_PATH = "/v1/health"
OBSERVATION_PATH = "/v1/observation"


def holder_path(uuid: str) -> str:
    """The path under which the holder of one GPU is set."""
    # Older MIG uuids contain slashes.
    return f"/v1/gpus/{quote(uuid, safe='')}/holder"


__all__ = [
    "HEALTH_PATH",
    "IMPLAUSIBLE",
    "OBSERVATION_PATH",
    "PROTOCOL",
    "REFUSAL_STATUS",
    "Applied",
    "Eviction",
    "GpuSeen",
    "Health",
    "Malformed",
    "Observation",
    "Order",
    "ProcessSeen",
    "Refusal",
    "Value",
    "dump_applied",
    "dump_health",
    "dump_observation",
    "dump_order",
    "dump_refusal",
    "holder_path",
    "parse_applied",
    "parse_health",
    "parse_observation",
    "parse_order",
    "parse_refusal",
]
