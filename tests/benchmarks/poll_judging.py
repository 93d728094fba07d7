"""What judging and rolling up take, for the GPUs that a poll has just read."""

import time
from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

from inventory.judging import judge_units
from inventory.rollups import recompute

TEN_MINUTES = timedelta(minutes=10)
# The newest reading of each GPU, again each interval back in time.
MORE = """
INSERT INTO inventory_readinghistory (gpu_id, requested_at, holder, generation, draining, util_pct, mem_used_mib,
  power_w, temperature_c, running, util_peak_pct, engine_pct, energy_j)
SELECT gpu_id, requested_at - step * make_interval(secs => %(interval_s)s), holder, generation, draining, util_pct,
  mem_used_mib, power_w, temperature_c, running, util_peak_pct, engine_pct, energy_j - step * power_w * %(interval_s)s
FROM inventory_reading CROSS JOIN generate_series(1, %(steps)s) AS step ON CONFLICT DO NOTHING
"""


def judge_and_roll_up() -> str:
    """A quarter of an hour of readings in one, then what judging and rolling up take."""
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(MORE, {"interval_s": 30, "steps": 30})
        cursor.execute("ANALYZE inventory_readinghistory")
    five_minutes = _floor(now)
    gpus, judge_s = _timed(lambda: judge_units(now=now))
    _gpus, judge_again_s = _timed(lambda: judge_units(now=timezone.now()))
    _spans, roll_up_s = _timed(lambda: recompute(five_minutes - TEN_MINUTES, five_minutes))
    return f"judge: gpus={gpus} judge_s={judge_s:.2f} judge_again_s={judge_again_s:.2f} roll_up_s={roll_up_s:.2f}"


def _timed(work) -> tuple[int, float]:
    began = time.perf_counter()
    done = work()
    return done, time.perf_counter() - began


def _floor(now: datetime) -> datetime:
    return now - timedelta(minutes=now.minute % 5, seconds=now.second, microseconds=now.microsecond)
