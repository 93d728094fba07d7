"""The declared nodes as simulated ones: each gets a port on this machine, a token and a pinned certificate."""

import json
import socket
from collections.abc import Container, Iterable, Mapping
from itertools import count
from pathlib import Path
from secrets import token_urlsafe

from django.conf import settings
from django.db import connection, transaction
from yarl import URL

from inventory.models import Node
from inventory.simulator import SimNode, SimulatedFleet, gpu_uuid
from inventory.trail import record_many

# What a card has when nobody knows its model's memory.
MEMORY_MIB = 81_920
HOST = "127.0.0.1"
HERE = f"https://{HOST}:"

ENROL = """
UPDATE inventory_node node
SET address = now.address, token = now.token, certificate_sha256 = now.certificate_sha256
FROM json_to_recordset(%s::json) AS now(id bigint, address text, token text, certificate_sha256 text)
WHERE node.id = now.id
"""


def state_folder() -> Path:
    """Where the simulated fleet of this portal remembers its devices, and notes its control port."""
    return Path(settings.HOME) / "simulator"


def specs(*, base_port: int, running: Container[str] = ()) -> list[SimNode]:
    """What to simulate: nodes in use that have no address yet, or one of a simulated fleet; real ones are left alone.

    A node that is `running` keeps the port of its address, and so does another one while nobody else listens on it;
    the rest get the first ones from `base_port` on that are free, so that two fleets fit on one machine, or any if
    that is 0.
    """
    nodes = [
        node
        for node in Node.objects.filter(retired_at=None).select_related("model").order_by("pk")
        if not node.address or node.address.startswith(HERE)
    ]
    own = {node.name: _own_port(node, running) for node in nodes}
    taken = set(own.values())
    free = (port for port in count(base_port) if port not in taken and _is_free(port))
    return [_spec(node, own[node.name] or (next(free) if base_port else 0)) for node in nodes]


def enrol(fleet: SimulatedFleet) -> int:
    """The nodes' rows say where the running fleet's nodes are spoken to, and how; how many that changed."""
    pin = fleet.certificate.sha256
    with transaction.atomic():
        rows = []
        for node in Node.objects.filter(name__in=fleet.nodes).select_for_update().order_by("pk"):
            simulated = fleet.nodes[node.name]
            before = (node.address, node.token, node.certificate_sha256)
            node.address, node.token, node.certificate_sha256 = simulated.address, simulated.spec.token, pin
            if (node.address, node.token, node.certificate_sha256) != before:
                rows.append((node, before[0]))
        if rows:
            with connection.cursor() as cursor:
                cursor.execute(ENROL, [json.dumps([_enrolment(node) for node, _before in rows])])
            # Neither the token nor the pin is anything for the trail.
            facts = [(node, {"address": [before, node.address]}) for node, before in rows]
            record_many("node.changed", facts, by="simulate", reason="enrolled")
    return len(rows)


def seed_holders(fleet: SimulatedFleet, holders: Mapping[str, Mapping[str, object]]) -> int:
    """Node -> slot -> holder, or [holder, generation]: those devices that never had an order are so; how many."""
    devices = fleet.devices()
    wanted = {gpu_uuid(node, int(slot)): held for node, slots in holders.items() for slot, held in slots.items()}
    found = {
        uuid: _held(held)
        for uuid, held in wanted.items()
        if (device := devices.get(uuid)) and device.order.generation == device.generation == 0
    }
    fleet.seed_holders(found)
    return len(found)


def changed(fleet: SimulatedFleet, wanted: Iterable[SimNode]) -> list[SimNode]:
    """Those of `wanted` that the running fleet does not have, or has otherwise."""
    running = fleet.nodes
    return [spec for spec in wanted if spec.name not in running or not _alike(running[spec.name].spec, spec)]


def _alike(running: SimNode, wanted: SimNode) -> bool:
    facts = ("model", "gpus", "memory_mib", "token")
    return all(getattr(running, fact) == getattr(wanted, fact) for fact in facts)


def _held(held: object) -> tuple[str, int]:
    holder, generation = held if isinstance(held, list | tuple) else (held, 1)
    return str(holder), int(generation)


def _spec(node: Node, port: int) -> SimNode:
    return SimNode(
        name=node.name,
        model=node.model.name,
        gpus=node.expected_gpus,
        memory_mib=node.model.memory_mib or MEMORY_MIB,
        token=node.token or token_urlsafe(24),
        island=node.island,
        site=node.site,
        port=port,
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the nodes themselves will listen: a port that was just closed counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _port(node: Node) -> int:
    return URL(node.address).port or 0 if node.address else 0


def _own_port(node: Node, running: Container[str]) -> int:
    port = _port(node)
    return port if port and (node.name in running or _is_free(port)) else 0


def _enrolment(node: Node) -> dict[str, object]:
    return {name: getattr(node, name) for name in ("id", "address", "token", "certificate_sha256")}
