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

# COPY is several times faster than rows in a parameter. The table is the connection's own and empty between surveys.
INCOMING = f"""
CREATE TEMPORARY TABLE IF NOT EXISTS incoming_reading (
  gpu_id bigint, {", ".join(f"{name} {kind}" for name, kind in [*SHARED.items(), *NEWEST.items()])}
) ON COMMIT DELETE ROWS;
TRUNCATE incoming_reading;
"""
COPY = f"COPY incoming_reading (gpu_id, {ALL}) FROM STDIN"
# Rows go in by id, so that two surveys cannot lock each other out. What is older than the newest reading is no row of
# the history either: an answer that was overtaken says nothing that its successor does not.
STORE = f"""
WITH newest AS (
  INSERT INTO inventory_reading AS reading (gpu_id, survey_id, {ALL})
  SELECT gpu_id, %(survey_id)s, {ALL} FROM incoming_reading ORDER BY gpu_id
  ON CONFLICT (gpu_id) DO UPDATE SET
    survey_id = excluded.survey_id, {", ".join(f"{name} = excluded.{name}" for name in [*SHARED, *NEWEST])}
  WHERE reading.requested_at < excluded.requested_at
  RETURNING gpu_id, {BOTH}
)
INSERT INTO inventory_readinghistory (gpu_id, {BOTH}) SELECT gpu_id, {BOTH} FROM newest
"""  # noqa: S608 - the names are the ones above
NOTHING = "{}"


def store_readings(claims: Iterable[Claim], gpu_ids: Mapping[str, int], *, survey_id: int) -> int:
    """Each claim is its GPU's reading, unless a newer one is there; how many were new. `gpu_ids`: UUID -> row."""
    believed_s = stale_after_s()
    rows = [_row(gpu_ids[claim.seen.uuid], claim, believed_s) for claim in claims if claim.seen.uuid in gpu_ids]
    if not rows:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(INCOMING)
        # Django translates the errors of a statement, not those of a COPY on its way; the task knows Django's.
        with connection.wrap_database_errors, cursor.copy(COPY) as copy:
            for row in rows:
                copy.write_row(row)
        cursor.execute(STORE, {"survey_id": survey_id})
        return int(cursor.rowcount)


def _row(gpu_id: int, claim: Claim, stale_after_s: float) -> tuple[Any, ...]:
    """The columns of SHARED and NEWEST in their order."""
    said, seen = claim.said, claim.seen
    reasons: dict[str, str] = {}

    def number(name: str, value: Value) -> float | None:
        if value.value is not None and value.age_s <= stale_after_s:
            return value.value
        # What an older agent has never heard of is no news at each poll.
        if value is not NOT_REPORTED:
            reasons[name] = STALE if value.value is not None else value.reason or ""
        return None

    def whole(name: str, value: Value) -> int | None:
        found = number(name, value)
        return None if found is None else int(found)

    shared = (
        said.requested_at,
        seen.holder,
        seen.generation,
        seen.draining,
        number("util_pct", seen.util_pct),
        whole("mem_used_mib", seen.mem_used_mib),
        number("power_w", seen.power_w),
        number("temperature_c", seen.temperature_c),
        None if seen.processes is None else len(seen.processes),
        number("util_peak_pct", seen.util_peak_pct),
        number("engine_pct", seen.engine_pct),
        number("energy_j", seen.energy_j),
    )
    newest = (
        said.observation.boot_id,
        said.observation.sequence,
        None if seen.processes is None else json.dumps([_process(process) for process in seen.processes]),
        whole("mem_reserved_mib", seen.mem_reserved_mib),
        number("power_limit_w", seen.power_limit_w),
        None if seen.open_to is None else json.dumps(seen.open_to),
        seen.access_revision,
        json.dumps(reasons) if reasons else NOTHING,
    )
    return gpu_id, *shared, *newest


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
