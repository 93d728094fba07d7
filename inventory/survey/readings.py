"""Readings of many GPUs in one statement: the newest one, the history, and what the time since was used for."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import connection

from inventory.drivers.base import Value
from inventory.queries import stale_after_s
from inventory.survey.comparing import Claim

STALE = "stale"

# The reading that stood until now says whose the seconds since were, and how they were used. It is believed for a few
# intervals (`believed`); what lies beyond is a gap, and a gap is unknown, never idle. Days are UTC days.
# All parts see the readings as they stood before; rows go in by id, so that two surveys cannot lock each other out.
STORE = """
WITH seen AS MATERIALIZED (
  SELECT * FROM json_to_recordset(%(rows)s::json) AS seen(
    gpu_id bigint, requested_at timestamptz, boot_id text, sequence bigint, holder text, generation bigint,
    draining boolean, util_pct float8, mem_used_mib int, power_w float8, temperature_c float8, running int,
    processes jsonb, reasons jsonb)
), span AS (
  SELECT old.gpu_id, coalesce(old.holder, '') AS holder,
    CASE WHEN old.holder IS NOT NULL THEN old.util_pct END AS util_pct,
    old.requested_at AT TIME ZONE 'UTC' AS since,
    seen.requested_at AT TIME ZONE 'UTC' AS until,
    least(seen.requested_at, old.requested_at + make_interval(secs => %(believed_s)s)) AT TIME ZONE 'UTC' AS believed
  FROM inventory_reading old JOIN seen USING (gpu_id)
  WHERE old.requested_at < seen.requested_at
), piece AS (
  SELECT gpu_id, holder, util_pct, day::date AS day,
    extract(epoch FROM greatest(least(day + '1 day', believed) - greatest(day, since), '0')) AS known_s,
    extract(epoch FROM greatest(least(day + '1 day', until) - greatest(day, believed), '0')) AS gap_s
  FROM span CROSS JOIN LATERAL generate_series(date_trunc('day', since), until, '1 day') AS day
), used AS (
  INSERT INTO inventory_usageday AS usage ("on", gpu_id, holder, busy_s, idle_s, unknown_s, util_pct_s)
  SELECT day, gpu_id, holder,
    CASE WHEN util_pct > 0 THEN known_s ELSE 0 END,
    CASE WHEN util_pct = 0 THEN known_s ELSE 0 END,
    CASE WHEN util_pct IS NULL THEN known_s ELSE 0 END + gap_s,
    coalesce(util_pct, 0) * known_s
  FROM piece WHERE known_s + gap_s > 0 ORDER BY gpu_id, day
  ON CONFLICT ("on", gpu_id, holder) DO UPDATE SET
    busy_s = usage.busy_s + excluded.busy_s, idle_s = usage.idle_s + excluded.idle_s,
    unknown_s = usage.unknown_s + excluded.unknown_s, util_pct_s = usage.util_pct_s + excluded.util_pct_s
), newest AS (
  INSERT INTO inventory_reading AS reading (gpu_id, survey_id, requested_at, boot_id, sequence, holder, generation,
    draining, util_pct, mem_used_mib, power_w, temperature_c, running, processes, reasons)
  SELECT gpu_id, %(survey_id)s, requested_at, boot_id, sequence, holder, generation,
    draining, util_pct, mem_used_mib, power_w, temperature_c, running, processes, reasons
  FROM seen ORDER BY gpu_id
  ON CONFLICT (gpu_id) DO UPDATE SET
    survey_id = excluded.survey_id, requested_at = excluded.requested_at, boot_id = excluded.boot_id,
    sequence = excluded.sequence, holder = excluded.holder, generation = excluded.generation,
    draining = excluded.draining, util_pct = excluded.util_pct, mem_used_mib = excluded.mem_used_mib,
    power_w = excluded.power_w, temperature_c = excluded.temperature_c, running = excluded.running,
    processes = excluded.processes, reasons = excluded.reasons
  WHERE reading.requested_at < excluded.requested_at
  RETURNING gpu_id, requested_at, holder, generation, draining, util_pct, mem_used_mib, power_w, temperature_c, running
)
INSERT INTO inventory_readinghistory (gpu_id, requested_at, holder, generation, draining, util_pct, mem_used_mib,
  power_w, temperature_c, running)
SELECT gpu_id, requested_at, holder, generation, draining, util_pct, mem_used_mib, power_w, temperature_c, running
FROM newest
"""


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
    reasons: dict[str, str] = {}

    def number(name: str, value: Value) -> float | None:
        if value.value is None:
            reasons[name] = value.reason or ""
        elif value.age_s > stale_after_s:
            reasons[name] = STALE
        else:
            return value.value
        return None

    mem_used_mib = number("mem_used_mib", seen.mem_used_mib)
    return {
        "gpu_id": gpu_id,
        "requested_at": said.requested_at.isoformat(),
        "boot_id": said.observation.boot_id,
        "sequence": said.observation.sequence,
        "holder": seen.holder,
        "generation": seen.generation,
        "draining": seen.draining,
        "util_pct": number("util_pct", seen.util_pct),
        "mem_used_mib": None if mem_used_mib is None else int(mem_used_mib),
        "power_w": number("power_w", seen.power_w),
        "temperature_c": number("temperature_c", seen.temperature_c),
        "running": None if seen.processes is None else len(seen.processes),
        "processes": None
        if seen.processes is None
        else [
            {"pid": process.pid, "user": process.user, "started_at_s": process.started_at_s, "mem_mib": process.mem_mib}
            for process in seen.processes
        ],
        "reasons": reasons,
    }
