"""Readings of many GPUs in one statement: the newest one of each, and the history."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import connection

from inventory.drivers.base import NOT_REPORTED, ProcessSeen, Value
from inventory.queries import stale_after_s
from inventory.survey.comparing import Claim

STALE = "stale"

# Columns and their types, of both tables and of the newest reading alone.
SHARED = {
    "requested_at": "timestamptz", "holder": "text", "generation": "bigint", "draining": "boolean",
    "util_pct": "float8", "mem_used_mib": "int", "power_w": "float8", "temperature_c": "float8", "running": "int",
    "util_peak_pct": "float8", "engine_pct": "float8", "energy_j": "float8",
}  # fmt: skip
NEWEST = {
    "boot_id": "text", "sequence": "bigint", "processes": "jsonb", "mem_reserved_mib": "int",
    "power_limit_w": "float8", "open_to": "jsonb", "access_revision": "bigint", "reasons": "jsonb",
}  # fmt: skip
BOTH = ", ".join(SHARED)
ALL = ", ".join([*SHARED, *NEWEST])

# Rows go in by id, so that two surveys cannot lock each other out. What is older than the newest reading is no row of
# the history either: an answer that was overtaken says nothing that its successor does not.
STORE = f"""
WITH newest AS (
  INSERT INTO inventory_reading AS reading (gpu_id, survey_id, {ALL})
  SELECT gpu_id, %(survey_id)s, {ALL}
  FROM json_to_recordset(%(rows)s::json) AS seen(
    gpu_id bigint, {", ".join(f"{name} {kind}" for name, kind in [*SHARED.items(), *NEWEST.items()])})
  ORDER BY gpu_id
  ON CONFLICT (gpu_id) DO UPDATE SET
    survey_id = excluded.survey_id, {", ".join(f"{name} = excluded.{name}" for name in [*SHARED, *NEWEST])}
  WHERE reading.requested_at < excluded.requested_at
  RETURNING gpu_id, {BOTH}
)
INSERT INTO inventory_readinghistory (gpu_id, {BOTH}) SELECT gpu_id, {BOTH} FROM newest
"""  # noqa: S608 - the names are the ones above
VALUES = (
    "util_pct", "power_w", "temperature_c", "util_peak_pct", "engine_pct", "energy_j", "power_limit_w",
)  # fmt: skip
WHOLE_VALUES = ("mem_used_mib", "mem_reserved_mib")


def store_readings(claims: Iterable[Claim], gpu_ids: Mapping[str, int], *, survey_id: int) -> int:
    """Each claim is its GPU's reading, unless a newer one is there; how many were new. `gpu_ids`: UUID -> row."""
    believed_s = stale_after_s()
    rows = [_row(gpu_ids[claim.seen.uuid], claim, believed_s) for claim in claims if claim.seen.uuid in gpu_ids]
    if not rows:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(STORE, {"rows": json.dumps(rows), "survey_id": survey_id, "believed_s": believed_s})
        return int(cursor.rowcount)


def _row(gpu_id: int, claim: Claim, stale_after_s: float) -> dict[str, Any]:
    said, seen = claim.said, claim.seen
    row: dict[str, Any] = {
        "gpu_id": gpu_id,
        "requested_at": said.requested_at.isoformat(),
        "boot_id": said.observation.boot_id,
        "sequence": said.observation.sequence,
        "holder": seen.holder,
        "generation": seen.generation,
        "draining": seen.draining,
        "running": None if seen.processes is None else len(seen.processes),
        "processes": None if seen.processes is None else [_process(process) for process in seen.processes],
        "open_to": seen.open_to,
        "access_revision": seen.access_revision,
    }
    reasons: dict[str, str] = {}
    for name in (*VALUES, *WHOLE_VALUES):
        value: Value = getattr(seen, name)
        if value.value is None:
            # What an older agent has never heard of is no news at each poll.
            if value is not NOT_REPORTED:
                reasons[name] = value.reason or ""
        elif value.age_s > stale_after_s:
            reasons[name] = STALE
        else:
            row[name] = value.value if name in VALUES else int(value.value)
    row["reasons"] = reasons
    return row


def _process(seen: ProcessSeen) -> dict[str, Any]:
    return {
        "pid": seen.pid,
        "user": seen.user,
        "started_at_s": seen.started_at_s,
        "mem_mib": seen.mem_mib,
        "uid": seen.uid,
        "name": seen.name,
        "job": seen.job,
        "zombie": seen.zombie,
        "allowed": seen.allowed,
    }
