"""The wire between the portal and a node: what a node says it sees, and what it is told about one GPU.

HTTPS and JSON, `Authorization: Bearer <token of the node>`, the node's certificate pinned by its SHA-256:
`GET /v1/observation`, `PUT /v1/gpus/{uuid}/holder`, `PUT /v1/settings`, `GET /v1/health`. Standard library only: a node
has no Django.
Fields that a reader does not know are passed over, so that either side may be updated first.
"""

from urllib.parse import quote

from inventory.node_agent.protocol.fields import PROTOCOL, Malformed
from inventory.node_agent.protocol.gpus import ENERGY_MOST_J, IMPLAUSIBLE, POWER_MOST_W, TEMPERATURE_MOST_C
from inventory.node_agent.protocol.observations import (
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
    dump_settings,
    parse_applied,
    parse_order,
    parse_refusal,
    parse_settings,
)
from inventory.node_agent.protocol.values import (
    NOT_REPORTED,
    Applied,
    Eviction,
    Fault,
    GpuSeen,
    Health,
    Mode,
    Observation,
    Order,
    ProcessSeen,
    Refusal,
    Settings,
    Value,
)

HEALTH_PATH = "/v1/health"
OBSERVATION_PATH = "/v1/observation"
SETTINGS_PATH = "/v1/settings"


def holder_path(uuid: str) -> str:
    """The path under which the holder of one GPU is set."""
    # Older MIG uuids contain slashes.
    return f"/v1/gpus/{quote(uuid, safe='')}/holder"


__all__ = [
    "ENERGY_MOST_J",
    "HEALTH_PATH",
    "IMPLAUSIBLE",
    "NOT_REPORTED",
    "OBSERVATION_PATH",
    "POWER_MOST_W",
    "PROTOCOL",
    "REFUSAL_STATUS",
    "SETTINGS_PATH",
    "TEMPERATURE_MOST_C",
    "Applied",
    "Eviction",
    "Fault",
    "GpuSeen",
    "Health",
    "Malformed",
    "Mode",
    "Observation",
    "Order",
    "ProcessSeen",
    "Refusal",
    "Settings",
    "Value",
    "dump_applied",
    "dump_health",
    "dump_observation",
    "dump_order",
    "dump_refusal",
    "dump_settings",
    "holder_path",
    "parse_applied",
    "parse_health",
    "parse_observation",
    "parse_order",
    "parse_refusal",
    "parse_settings",
]
