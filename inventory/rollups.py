"""Use in spans of five minutes, hours and days, rolled up from readings: what a repeat or a late reading leaves right.

Every span is computed anew from what lies below it, never added to, so the same readings always give the same rows. All
spans are UTC: a day of the site's zone that has 23 or 25 hours is a matter of whoever reads hours.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from inventory.activity import BUSY_FROM_PCT
from inventory.queries import stale_after_s

SPAN = timedelta(minutes=5)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
# A poll that takes longer than its task may (5 minutes) is stored by nobody, so what was asked in the last second of a
# span is there a span later: the two newest ones are looked at again.
LOOK_BACK = 2 * SPAN
# In one transaction: of 100,000 GPUs at 30 s these are 3 million readings, some 20 s of work.
AT_ONCE = 3 * SPAN
# After a long stop the next calls go on; each stays below a task's time limit.
MOST_AT_A_CALL = timedelta(hours=2)
ROLLUP_LOCK = 0x5011
WORK_MEM = "256MB"  # readings of an hour of some thousand GPUs are put in order without a disk

LAST = "SELECT max(begins_at) FROM inventory_usage5min"
FIRST_READING = "SELECT min(requested_at) FROM inventory_readinghistory"
FILLED = "SELECT min(begins_at) FROM inventory_usage5min WHERE begins_at >= %s AND begins_at < %s"

# A reading speaks for the seconds until the next one, but for `believed_s` at most; what lies beyond is a gap, unknown
# and of the holder before it. One reading before the span is enough, from wherever it is.
FIVE_MINUTES = """
WITH near AS (
  SELECT gpu_id, requested_at AS at, holder, util_pct, util_peak_pct, engine_pct, power_w, energy_j, mem_used_mib
  FROM inventory_readinghistory
  WHERE requested_at >= %(begin)s - make_interval(secs => %(believed_s)s)
    AND requested_at < %(end)s + make_interval(secs => %(believed_s)s)
), quiet AS (
  SELECT gpu.id AS gpu_id FROM inventory_gpu gpu
  WHERE gpu.first_seen_at < %(begin)s AND (gpu.retired_at IS NULL OR gpu.retired_at > %(begin)s)
    AND gpu.id NOT IN (SELECT gpu_id FROM near WHERE at <= %(begin)s)
), reading AS (
  SELECT * FROM near
  UNION ALL
  SELECT before.* FROM quiet CROSS JOIN LATERAL (
    SELECT gpu_id, requested_at, holder, util_pct, util_peak_pct, engine_pct, power_w, energy_j, mem_used_mib
    FROM inventory_readinghistory past
    WHERE past.gpu_id = quiet.gpu_id AND past.requested_at < %(begin)s
    ORDER BY past.requested_at DESC LIMIT 1
  ) AS before
), ordered AS (
  SELECT reading.*, lead(at) OVER next AS next_at, lead(energy_j) OVER next AS next_energy_j
  FROM reading WINDOW next AS (PARTITION BY gpu_id ORDER BY at)
), spoken AS (
  SELECT ordered.*, coalesce(ordered.holder, '') AS whose,
    least(coalesce(next_at, 'infinity'), at + make_interval(secs => %(believed_s)s), gpu.retired_at) AS believed,
    least(coalesce(next_at, %(end)s), %(end)s, gpu.retired_at) AS until,
    ordered.holder IS NOT NULL AND (util_pct IS NOT NULL OR engine_pct IS NOT NULL) AS told,
    coalesce(util_pct >= %(busy_from_pct)s, false) OR coalesce(engine_pct >= %(busy_from_pct)s, false) AS busy
  FROM ordered JOIN inventory_gpu gpu ON gpu.id = ordered.gpu_id
), piece AS (
  SELECT spoken.*, span AS begins_at, at >= span AND at < span + '5 minutes' AS begins_here,
    greatest(extract(epoch FROM least(believed, until, span + '5 minutes') - greatest(at, span)), 0)::float8 AS known_s,
    greatest(extract(epoch FROM least(until, span + '5 minutes') - greatest(believed, span)), 0)::float8 AS gap_s
  FROM spoken CROSS JOIN LATERAL generate_series(
    greatest(date_bin('5 minutes', at, 'epoch'), %(begin)s), until - interval '1 microsecond', '5 minutes') AS span
  WHERE until > %(begin)s
), fresh AS (
  SELECT begins_at, gpu_id, whose AS holder,
    count(*) FILTER (WHERE told AND begins_here) AS valid,
    min(util_pct) FILTER (WHERE told AND known_s > 0) AS util_min_pct,
    sum(util_pct * known_s) FILTER (WHERE told) / nullif(sum(known_s) FILTER (WHERE told AND util_pct IS NOT NULL), 0)
      AS util_mean_pct,
    max(greatest(util_pct, util_peak_pct)) FILTER (WHERE told AND known_s > 0) AS util_max_pct,
    sum(watts * known_s) / nullif(sum(known_s) FILTER (WHERE watts IS NOT NULL), 0) AS power_mean_w,
    max(mem_used_mib) FILTER (WHERE known_s > 0) AS mem_max_mib,
    coalesce(sum(known_s) FILTER (WHERE told AND busy), 0) AS busy_s,
    coalesce(sum(known_s) FILTER (WHERE told AND NOT busy), 0) AS idle_s,
    coalesce(sum(known_s) FILTER (WHERE NOT told), 0) + sum(gap_s) AS unknown_s
  FROM piece CROSS JOIN LATERAL (SELECT CASE
    WHEN next_energy_j >= energy_j AND next_at <= at + make_interval(secs => %(believed_s)s) AND next_at > at
      THEN (next_energy_j - energy_j) / extract(epoch FROM next_at - at)::float8
    ELSE power_w END AS watts) AS power
  WHERE known_s + gap_s > 0
  GROUP BY begins_at, gpu_id, whose
)
"""
HOURS = """
WITH fresh AS (
  SELECT date_trunc('hour', begins_at, 'UTC') AS begins_at, gpu_id, holder, sum(valid) AS valid,
    min(util_min_pct) AS util_min_pct,
    sum(util_mean_pct * (busy_s + idle_s)) / nullif(sum(busy_s + idle_s) FILTER (WHERE util_mean_pct IS NOT NULL), 0)
      AS util_mean_pct,
    max(util_max_pct) AS util_max_pct,
    sum(power_mean_w * (busy_s + idle_s + unknown_s))
      / nullif(sum(busy_s + idle_s + unknown_s) FILTER (WHERE power_mean_w IS NOT NULL), 0) AS power_mean_w,
    max(mem_max_mib) AS mem_max_mib, sum(busy_s) AS busy_s, sum(idle_s) AS idle_s, sum(unknown_s) AS unknown_s
  FROM inventory_usage5min WHERE begins_at >= %(begin)s AND begins_at < %(end)s
  GROUP BY 1, gpu_id, holder
)
"""
# Only what differs is written: a span that is looked at again costs no write.
PUT = """, put AS (
  INSERT INTO {table} AS old (begins_at, gpu_id, holder, valid, util_min_pct, util_mean_pct, util_max_pct, power_mean_w,
    mem_max_mib, busy_s, idle_s, unknown_s)
  SELECT * FROM fresh ORDER BY begins_at, gpu_id, holder
  ON CONFLICT (begins_at, gpu_id, holder) DO UPDATE SET valid = excluded.valid, util_min_pct = excluded.util_min_pct,
    util_mean_pct = excluded.util_mean_pct, util_max_pct = excluded.util_max_pct, power_mean_w = excluded.power_mean_w,
    mem_max_mib = excluded.mem_max_mib, busy_s = excluded.busy_s, idle_s = excluded.idle_s,
    unknown_s = excluded.unknown_s
  WHERE (old.valid, old.util_min_pct, old.util_mean_pct, old.util_max_pct, old.power_mean_w, old.mem_max_mib,
    old.busy_s, old.idle_s, old.unknown_s) IS DISTINCT FROM (excluded.valid, excluded.util_min_pct,
    excluded.util_mean_pct, excluded.util_max_pct, excluded.power_mean_w, excluded.mem_max_mib, excluded.busy_s,
    excluded.idle_s, excluded.unknown_s)
)
DELETE FROM {table} old WHERE old.begins_at >= %(begin)s AND old.begins_at < %(end)s
  AND NOT EXISTS (SELECT FROM fresh WHERE (fresh.begins_at, fresh.gpu_id, fresh.holder)
    = (old.begins_at, old.gpu_id, old.holder))
"""
DAYS = """
WITH fresh AS (
  SELECT (begins_at AT TIME ZONE 'UTC')::date AS day, gpu_id, holder, sum(busy_s) AS busy_s, sum(idle_s) AS idle_s,
    sum(unknown_s) AS unknown_s, coalesce(sum(util_mean_pct * (busy_s + idle_s)), 0) AS util_pct_s
  FROM inventory_usagehour WHERE begins_at >= %(begin)s AND begins_at < %(end)s
  GROUP BY 1, gpu_id, holder
), put AS (
  INSERT INTO inventory_usageday AS old ("on", gpu_id, holder, busy_s, idle_s, unknown_s, util_pct_s)
  SELECT day, gpu_id, holder, busy_s, idle_s, unknown_s, util_pct_s FROM fresh ORDER BY day, gpu_id, holder
  ON CONFLICT ("on", gpu_id, holder) DO UPDATE SET busy_s = excluded.busy_s, idle_s = excluded.idle_s,
    unknown_s = excluded.unknown_s, util_pct_s = excluded.util_pct_s
  WHERE (old.busy_s, old.idle_s, old.unknown_s, old.util_pct_s)
    IS DISTINCT FROM (excluded.busy_s, excluded.idle_s, excluded.unknown_s, excluded.util_pct_s)
)
DELETE FROM inventory_usageday old WHERE old."on" IN (SELECT day FROM fresh)
  AND NOT EXISTS (SELECT FROM fresh WHERE (fresh.day, fresh.gpu_id, fresh.holder) = (old."on", old.gpu_id, old.holder))
"""


def roll_up(*, now: datetime | None = None) -> int:
    """All spans of five minutes that are over stand as the readings say, and so do their hours and days; how many.

    Goes on where the last call ended and looks again at what a late reading may have changed. 0 while another one runs.
    """
    now = now or timezone.now()
    # What the last reading of a span says about its end is known once the next one is there, or must be.
    end = _floor(now - timedelta(seconds=stale_after_s()), SPAN)
    begin, done = _begin(end), 0
    for part in [] if begin is None else _parts(begin, end):
        # Each part stands for itself: a call that is cut off loses the one it is at.
        with transaction.atomic():
            if not _alone():
                break
            done += recompute(*part)
    return done


def _parts(begin: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """What is to be computed, in its order; ends early, so that a backlog does not outlast its task."""
    filled = timedelta()
    while begin < end and filled < MOST_AT_A_CALL:
        until = min(begin + AT_ONCE, end)
        yield begin, until
        # A time in which there was no GPU at all is passed over in one call, or no call would ever come beyond it.
        filled += until - begin if _one(FILLED, begin, until) else timedelta()
        begin = until


def recompute(begin: datetime, end: datetime) -> int:
    """The spans from `begin` to `end` (whole five minutes), their hours and days are as the readings say; how many."""
    _run(FIVE_MINUTES + PUT.format(table="inventory_usage5min"), begin, end)
    _run(HOURS + PUT.format(table="inventory_usagehour"), _floor(begin, HOUR), _ceil(end, HOUR))
    _run(DAYS, _floor(begin, DAY), _ceil(end, DAY))
    return (end - begin) // SPAN


def _begin(end: datetime) -> datetime | None:
    last, first = _one(LAST), _one(FIRST_READING)
    if last is not None:
        return min(last + SPAN, end) - LOOK_BACK
    return None if first is None else _floor(first, SPAN)


def _alone() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [ROLLUP_LOCK])
        return bool(cursor.fetchone()[0])


def _one(statement: str, *values: datetime) -> datetime | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        found: datetime | None = cursor.fetchone()[0]
    return found


def _run(statement: str, begin: datetime, end: datetime) -> None:
    values: dict[str, Any] = {
        "begin": begin,
        "end": end,
        "believed_s": stale_after_s(),
        "busy_from_pct": BUSY_FROM_PCT,
    }
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL work_mem = '{WORK_MEM}'")
        cursor.execute(statement, values)


def _floor(at: datetime, step: timedelta) -> datetime:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return at - (at - epoch) % step


def _ceil(at: datetime, step: timedelta) -> datetime:
    floor = _floor(at, step)
    return floor if floor == at else floor + step
