"""Nodes as a survey finds and leaves them: locked, then answering, silent, or silent for another reason."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from inventory.drivers.base import Observed
from inventory.errors import InventoryError, NodeError
from inventory.models import Node, Survey, SurveyFault
from inventory.survey.comparing import KnownGpu
from inventory.survey.gpus import ACTOR
from inventory.trail import record_many

# Locked by id, so that surveys of the same nodes store one after the other and never wait for each other in a ring.
LOCK = """
SELECT id, name, answered_at, boot_id, silent_since, fault, expected_gpus, boot_since, said_mode FROM inventory_node
WHERE id = ANY(%s) AND retired_at IS NULL ORDER BY id FOR NO KEY UPDATE
"""
KNOWN = """
SELECT gpu.id, gpu.uuid, gpu.node_id, gpu.kind, gpu.pci_bus_id, gpu.lost_at, gpu.retired_at, gpu.parent_id,
  reading.requested_at, reading.boot_id, reading.sequence, gpu.good_polls, gpu.minor, gpu.serial, gpu.unified_memory
FROM inventory_gpu gpu LEFT JOIN inventory_reading reading ON reading.gpu_id = gpu.id
WHERE gpu.uuid IS NOT NULL AND
"""
UPDATE = """
UPDATE inventory_node node
SET answered_at = coalesce(now.answered_at, node.answered_at), boot_id = coalesce(now.boot_id, node.boot_id),
    silent_since = now.silent_since, fault = now.fault,
    boot_since = CASE WHEN now.boot_id <> node.boot_id THEN now.answered_at ELSE node.boot_since END,
    said_mode = coalesce(now.mode, node.said_mode), agent_version = coalesce(now.agent, node.agent_version),
    gpu_driver = coalesce(now.driver, node.gpu_driver),
    cards_on_bus = CASE WHEN now.answered_at IS NULL THEN node.cards_on_bus ELSE now.cards_on_bus END
FROM json_to_recordset(%s::json) AS now(
  id bigint, answered_at timestamptz, boot_id text, silent_since timestamptz, fault text,
  mode text, agent text, driver text, cards_on_bus int)
WHERE node.id = now.id
"""


class NodeState(NamedTuple):
    """What the row of a node says when a survey begins to store."""

    node_id: int
    name: str
    answered_at: datetime | None
    boot_id: str
    silent_since: datetime | None
    fault: str
    expected_gpus: int
    boot_since: datetime | None
    said_mode: str


class Heard(NamedTuple):
    """A node that answered, and what it said."""

    node: NodeState
    said: Observed


class Unheard(NamedTuple):
    """A node that did not answer, and why."""

    node: NodeState
    error: InventoryError


def lock_nodes(node_ids: Iterable[int]) -> dict[int, NodeState]:
    """The nodes that are not retired, locked until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [list(node_ids)])
        return {row[0]: NodeState._make(row) for row in cursor.fetchall()}


def known_gpus(node_ids: Sequence[int]) -> list[KnownGpu]:
    """The GPUs of these nodes that are not retired, in the order in which the trail tells of them."""
    with connection.cursor() as cursor:
        cursor.execute(KNOWN + "gpu.node_id = ANY(%s) AND gpu.retired_at IS NULL ORDER BY gpu.id", [list(node_ids)])
        return [KnownGpu._make(row) for row in cursor.fetchall()]


def gpus_named(uuids: Sequence[str]) -> list[KnownGpu]:
    """The GPUs that have these UUIDs, wherever they are, retired ones too."""
    with connection.cursor() as cursor:
        cursor.execute(KNOWN + "gpu.uuid = ANY(%s) ORDER BY gpu.id", [list(uuids)])
        return [KnownGpu._make(row) for row in cursor.fetchall()]


def write_nodes(survey: Survey, heard: Sequence[Heard], unheard: Sequence[Unheard]) -> None:
    """Who answered and who did not stands in the nodes' rows; the trail tells when a silence begins and ends.

    A fault is written when it begins and when its code changes, not at each survey.
    """
    news = [(node, error) for node, error in unheard if node.silent_since is None or node.fault != error.code]
    rows = [_heard_row(row) for row in heard] + [_unheard_row(node, error, survey) for node, error in news]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(UPDATE, [json.dumps(rows)])
    if news:
        SurveyFault.objects.bulk_create(
            SurveyFault(
                survey=survey, node_id=node.node_id, code=error.code, detail=_detail(error), at=survey.started_at
            )
            for node, error in news
        )
    _tell(
        "node.silent",
        [
            (node, {"fault": error.code, "detail": _detail(error), "answered_at": node.answered_at})
            for node, error in news
            if node.silent_since is None
        ],
    )
    _tell(
        "node.answers",
        [
            (node, {"silent_since": node.silent_since, "fault": node.fault})
            for node, _said in heard
            if node.silent_since is not None
        ],
    )


def _heard_row(heard: Heard) -> dict[str, Any]:
    observation = heard.said.observation
    return {
        "id": heard.node.node_id,
        "answered_at": heard.said.requested_at.isoformat(),
        "boot_id": observation.boot_id,
        "silent_since": None,
        "fault": "",
        "mode": observation.mode,
        "agent": observation.agent,
        "driver": observation.driver,
        "cards_on_bus": observation.cards_on_bus,
    }


def _unheard_row(node: NodeState, error: InventoryError, survey: Survey) -> dict[str, Any]:
    since = (node.silent_since or survey.started_at).isoformat()
    return {"id": node.node_id, "silent_since": since, "fault": error.code}


def _detail(error: InventoryError) -> str:
    detail = error.detail if isinstance(error, NodeError) else str(error)
    return detail[:300].replace("\0", "")


def _tell(verb: str, rows: Sequence[tuple[NodeState, dict[str, Any]]]) -> None:
    if rows:
        record_many(verb, [(Node(pk=node.node_id, name=node.name), facts) for node, facts in rows], by=ACTOR)
