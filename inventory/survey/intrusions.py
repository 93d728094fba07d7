"""Who used a GPU without a right, as the nodes say by their orders: one row a user, GPU and day, not one a poll."""

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.db import connection

from inventory.drivers.base import ProcessSeen
from inventory.models import Gpu
from inventory.survey.comparing import Claim
from inventory.survey.gpus import ACTOR
from inventory.trail import record_many

# What goes on beyond a day from its beginning is told again: one row must not hide that it happens every night.
ONE_ROW_FOR = timedelta(days=1)
NAMES_KEPT = 20

GO_ON = """
UPDATE inventory_intrusion old SET last_at = now.at, readings = old.readings + 1, mode = now.mode,
  names = (SELECT coalesce(jsonb_agg(name), '[]') FROM (
    SELECT DISTINCT name FROM jsonb_array_elements_text(old.names || now.names) AS name ORDER BY name LIMIT %(names)s
  ) AS known)
FROM json_to_recordset(%(rows)s::json) AS now(
  gpu_id bigint, "user" text, at timestamptz, holder text, mode text, names jsonb)
WHERE old.gpu_id = now.gpu_id AND old."user" = now."user" AND old.holder = now.holder
  AND old.first_at > now.at - make_interval(secs => %(span_s)s) AND old.first_at <= now.at
RETURNING old.gpu_id, old."user"
"""
BEGIN = """
INSERT INTO inventory_intrusion (gpu_id, "user", uid, holder, mode, names, first_at, last_at, readings)
SELECT gpu_id, "user", uid, holder, mode, names, at, at, 1
FROM json_to_recordset(%s::json) AS now(
  gpu_id bigint, "user" text, uid bigint, at timestamptz, holder text, mode text, names jsonb)
"""


def write_intrusions(claims: Iterable[Claim], gpu_ids: Mapping[str, int]) -> None:
    """Each process that its node's orders do not allow stands in a row of its user; the trail tells when one begins.

    The nodes' rows are locked by the caller: no other survey writes about the same GPUs.
    """
    rows = {
        (gpu_ids[claim.seen.uuid], user): _row(claim, gpu_ids[claim.seen.uuid], user, processes)
        for claim in claims
        if claim.seen.processes and claim.seen.uuid in gpu_ids
        for user, processes in _strangers(claim.seen.processes).items()
    }
    if not rows:
        return
    with connection.cursor() as cursor:
        told = json.dumps([*rows.values()])
        cursor.execute(GO_ON, {"rows": told, "names": NAMES_KEPT, "span_s": ONE_ROW_FOR.total_seconds()})
        going_on = {(gpu_id, user) for gpu_id, user in cursor.fetchall()}
        begun = [row for key, row in rows.items() if key not in going_on]
        if begun:
            cursor.execute(BEGIN, [json.dumps(begun)])
    if begun:
        gpus = Gpu.objects.in_bulk([row["gpu_id"] for row in begun])
        subjects = [(gpus[row["gpu_id"]], {name: row[name] for name in ("user", "holder", "mode")}) for row in begun]
        record_many("gpu.intruded", subjects, by=ACTOR)


def _strangers(processes: Iterable[ProcessSeen]) -> dict[str, list[ProcessSeen]]:
    found: dict[str, list[ProcessSeen]] = {}
    for process in processes:
        # None: the node does not know, which accuses nobody.
        if process.allowed is False:
            found.setdefault(process.user, []).append(process)
    return found


def _row(claim: Claim, gpu_id: int, user: str, processes: list[ProcessSeen]) -> dict[str, Any]:
    return {
        "gpu_id": gpu_id,
        "user": user,
        "uid": processes[0].uid,
        "at": claim.said.requested_at.isoformat(),
        "holder": claim.seen.holder,
        "mode": claim.said.observation.mode,
        "names": sorted({process.name for process in processes if process.name})[:NAMES_KEPT],
    }
