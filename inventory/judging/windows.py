"""The recent readings of the whole fleet, summed up in one statement as `activity.window_of` sums up one GPU's."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from inventory.activity import BUSY_FROM_PCT, Previous, Rules, Unit, Window

WORK_MEM = "128MB"  # a sum for each of 100,000 GPUs stays in memory
AT_ONCE = 10_000  # rows turned into windows and verdicts before they are written: some 20 MB
# A time of its own for each unit is cut out of one range, so that the newest partitions are read once. The first and
# the last count of energy are the least and the most of (instant, count): a join for each would read them again.
WINDOWS = """
WITH unit AS MATERIALIZED (
  SELECT gpu.id AS gpu_id, gpu.model_id, gpu.lost_at IS NOT NULL AS is_lost, gpu.unified_memory AS shares_memory,
    reading.holder, reading.power_limit_w AS limit_w,
    reading.mem_reserved_mib IS NOT NULL AS is_reserve_told, node.boot_since AS booted_at,
    CASE WHEN reading.mem_reserved_mib IS NULL THEN %(floor_with_reserve_mib)s ELSE %(floor_mib)s END AS floor_mib,
    greatest(%(begins_at)s, node.boot_since) AS begins_at,
    coalesce(jsonb_array_length(reading.processes) > 0
      AND NOT reading.processes @@ '$[*].zombie != true', false) AS only_zombies
  FROM inventory_gpu gpu
  JOIN inventory_node node ON node.id = gpu.node_id
  LEFT JOIN inventory_reading reading ON reading.gpu_id = gpu.id
  WHERE gpu.retired_at IS NULL AND node.retired_at IS NULL
), told AS (
  SELECT unit.gpu_id, past.requested_at AS at, past.util_pct, past.util_peak_pct, past.engine_pct, past.power_w,
    past.energy_j, past.running,
    past.util_pct IS NOT NULL OR past.engine_pct IS NOT NULL AS tells,
    coalesce(past.util_pct > 0, false) OR coalesce(past.util_peak_pct > 0, false)
      OR coalesce(past.engine_pct > 0, false) AS shows,
    NOT unit.shares_memory AND coalesce(past.mem_used_mib > unit.floor_mib, false) AS holds,
    unit.shares_memory OR coalesce(past.mem_used_mib <= unit.floor_mib, false) AS bare,
    coalesce(past.util_pct >= %(busy_from_pct)s, false) AS busy
  FROM inventory_readinghistory past
  JOIN unit ON unit.gpu_id = past.gpu_id AND past.requested_at >= unit.begins_at
    AND past.holder IS NOT DISTINCT FROM unit.holder
  WHERE past.requested_at >= %(begins_at)s AND past.requested_at <= %(now)s
), summed AS (
  SELECT gpu_id,
    count(*) FILTER (WHERE tells) AS valid,
    count(util_peak_pct) FILTER (WHERE tells) AS peaks,
    count(*) FILTER (WHERE shows) AS shown,
    min(at) AS first_at, max(at) AS last_at,
    min(at) FILTER (WHERE tells) AS first_told_at, max(at) FILTER (WHERE tells) AS told_at,
    min(at) FILTER (WHERE shows) AS first_shown_at,
    avg(util_pct) AS util_mean_pct, greatest(max(util_pct), max(util_peak_pct)) AS util_max_pct,
    max(engine_pct) AS engine_max_pct, avg(power_w) AS power_w,
    min(energy_j) AS least_j, max(energy_j) AS most_j,
    min(ARRAY[extract(epoch FROM at)::float8, energy_j]) FILTER (WHERE energy_j IS NOT NULL) AS first_count,
    max(ARRAY[extract(epoch FROM at)::float8, energy_j]) FILTER (WHERE energy_j IS NOT NULL) AS last_count,
    count(*) FILTER (WHERE at > %(recent_after)s) AS recent,
    count(*) FILTER (WHERE at > %(recent_after)s AND running = 0 AND bare AND NOT busy) AS recent_empty,
    max(at) FILTER (WHERE running = 0 AND bare AND NOT busy) AS empty_at,
    max(at) FILTER (WHERE running > 0 OR (running IS NULL AND holds)) AS present_at,
    max(at) FILTER (WHERE running = 0 AND (holds OR busy)) AS left_at,
    max(at) FILTER (WHERE running IS DISTINCT FROM 0) AS process_at,
    max(at) FILTER (WHERE running IS DISTINCT FROM 0 OR NOT bare OR busy) AS occupied_at
  FROM told GROUP BY gpu_id
), typical AS (
  SELECT gpu.model_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY activity.idle_power_w) AS idle_w
  FROM inventory_activity activity JOIN inventory_gpu gpu ON gpu.id = activity.gpu_id
  WHERE activity.idle_power_w IS NOT NULL GROUP BY gpu.model_id
)
SELECT unit.gpu_id, unit.begins_at, coalesce(valid, 0), coalesce(peaks, 0), coalesce(shown, 0), first_at, last_at,
  first_told_at, told_at, first_shown_at, summed.util_mean_pct, summed.util_max_pct, engine_max_pct, summed.power_w,
  CASE WHEN last_count[1] > first_count[1] AND least_j = first_count[2] AND most_j = last_count[2]
    THEN (most_j - least_j) / (last_count[1] - first_count[1]) END,
  coalesce(recent, 0), coalesce(recent_empty, 0), empty_at, present_at, left_at, process_at, occupied_at,
  unit.holder, unit.booted_at, is_lost, is_reserve_told, shares_memory, limit_w, only_zombies,
  coalesce(activity.idle_power_w, typical.idle_w),
  activity.state, activity.since, activity.judged_at, activity.holder, activity.idle_power_w
FROM unit
LEFT JOIN summed USING (gpu_id)
LEFT JOIN inventory_activity activity ON activity.gpu_id = unit.gpu_id
LEFT JOIN typical ON typical.model_id = unit.model_id
"""
WINDOW_FIELDS = len(Window._fields)
UNIT_FIELDS = len(Unit._fields)


class Case(NamedTuple):
    """All that a verdict about one GPU rests on. `idle_w`: its own, or what its model draws at rest; None unknown."""

    gpu_id: int
    window: Window
    unit: Unit
    idle_w: float | None
    previous: Previous | None
    own_idle_w: float | None


def cases(rules: Rules, *, begins_at: datetime, recent_after: datetime, now: datetime) -> Iterator[list[Case]]:
    """Every GPU in use with its window, some thousand at a time."""
    values: dict[str, Any] = {
        "begins_at": begins_at,
        "recent_after": recent_after,
        "now": now,
        "floor_mib": rules.floor(is_reserve_told=True),
        "floor_with_reserve_mib": rules.floor(is_reserve_told=False),
        "busy_from_pct": BUSY_FROM_PCT,
    }
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL work_mem = '{WORK_MEM}'")
        cursor.execute(WINDOWS, values)
        while rows := cursor.fetchmany(AT_ONCE):
            yield [_case(row) for row in rows]


def _case(row: tuple) -> Case:
    rest = row[1 + WINDOW_FIELDS :]
    idle_w, state, since, judged_at, holder, own_idle_w = rest[UNIT_FIELDS:]
    return Case(
        row[0],
        Window._make(row[1 : 1 + WINDOW_FIELDS]),
        Unit._make(rest[:UNIT_FIELDS]),
        idle_w,
        None if state is None else Previous(state, since, judged_at, holder, own_idle_w),
        own_idle_w,
    )
