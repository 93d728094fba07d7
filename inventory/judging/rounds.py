"""One round of judging: every GPU in use gets its verdict from the readings of the last minutes."""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from inventory.activity import Rules, Verdict, judge, settled
from inventory.judging.windows import Case, cases

JUDGING_LOCK = 0x5017  # advisory lock: one round at a time, however many workers

WRITE = """
INSERT INTO inventory_activity AS activity (gpu_id, state, since, judged_at, holder, coverage_pct, util_mean_pct,
  util_max_pct, power_mean_w, idle_power_w, why)
SELECT gpu_id, state, since, %(now)s, holder, coverage_pct, util_mean_pct, util_max_pct, power_mean_w, idle_power_w, why
FROM json_to_recordset(%(rows)s::json) AS judged(
  gpu_id bigint, state text, since timestamptz, holder text, coverage_pct float8, util_mean_pct float8,
  util_max_pct float8, power_mean_w float8, idle_power_w float8, why text)
ORDER BY gpu_id
ON CONFLICT (gpu_id) DO UPDATE SET
  state = excluded.state, since = excluded.since, judged_at = excluded.judged_at, holder = excluded.holder,
  coverage_pct = excluded.coverage_pct, util_mean_pct = excluded.util_mean_pct, util_max_pct = excluded.util_max_pct,
  power_mean_w = excluded.power_mean_w, idle_power_w = excluded.idle_power_w, why = excluded.why
WHERE activity.judged_at < excluded.judged_at
"""


def rules_now() -> Rules:
    """The lab's thresholds."""
    return Rules(interval_s=float(settings.POLL_INTERVAL_S))


def judge_units(*, now: datetime | None = None) -> int:
    """Every GPU in use has a verdict as of `now`; how many, 0 while another round runs."""
    now = now or timezone.now()
    rules = rules_now()
    begins_at, recent_after = now - timedelta(seconds=rules.window_s), now - timedelta(seconds=rules.stale_s)
    judged = 0
    with transaction.atomic():
        if not _alone():
            return 0
        for batch in cases(rules, begins_at=begins_at, recent_after=recent_after, now=now):
            _write([_row(case, _verdict(case, rules, now)) for case in batch], now)
            judged += len(batch)
    return judged


def _alone() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [JUDGING_LOCK])
        return bool(cursor.fetchone()[0])


def _verdict(case: Case, rules: Rules, now: datetime) -> Verdict:
    verdict = judge(case.window, case.unit, rules, idle_w=case.idle_w, now=now)
    return settled(verdict, case.previous, case.window, case.unit, rules, own_idle_w=case.own_idle_w)


def _row(case: Case, verdict: Verdict) -> dict[str, Any]:
    window = case.window
    return {
        "gpu_id": case.gpu_id,
        "state": verdict.state,
        "since": verdict.since.isoformat(),
        "holder": case.unit.holder or "",
        "coverage_pct": verdict.coverage_pct,
        "util_mean_pct": window.util_mean_pct,
        "util_max_pct": window.util_max_pct,
        "power_mean_w": window.mean_power_w,
        "idle_power_w": verdict.idle_w,
        "why": verdict.why,
    }


def _write(rows: Iterable[dict[str, Any]], now: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(WRITE, {"rows": json.dumps(list(rows)), "now": now})
