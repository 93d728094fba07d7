"""Readings of one GPU for tests of judging: an H100 that is read every ten seconds."""

from datetime import UTC, datetime, timedelta

from inventory.activity import Previous, Reading, Rules, Unit, Verdict, judge, settled, window_of

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
RULES = Rules(interval_s=10)
IDLE_W, LIMIT_W = 70.0, 700.0
UNIT = Unit("apollo", limit_w=LIMIT_W)


def reading(seconds_ago: float, **fields) -> Reading:
    """Somebody holds memory and does nothing, unless `fields` say otherwise."""
    rest = {"util_pct": 0.0, "util_peak_pct": 0.0, "power_w": IDLE_W, "mem_used_mib": 40_000, "running": 1}
    return Reading(NOW - timedelta(seconds=seconds_ago), **({"holder": "apollo"} | rest | fields))


def quarter(**fields) -> list[Reading]:
    """A quarter of an hour of the same reading, every ten seconds."""
    return [reading(seconds_ago, **fields) for seconds_ago in range(890, -1, -10)]


def verdict(readings, *, unit: Unit = UNIT, idle_w: float | None = IDLE_W, now: datetime = NOW) -> Verdict:
    """The judgement of these readings alone."""
    return judge(window_of(readings, unit, RULES, now=now), unit, RULES, idle_w=idle_w, now=now)


def state(readings, **options) -> str:
    """What these readings say that the GPU does."""
    return verdict(readings, **options).state


def judged_after(
    readings, previous: Previous | None, *, unit: Unit = UNIT, now: datetime = NOW, own_idle_w: float | None = IDLE_W
) -> Verdict:
    """The judgement that follows another one."""
    window = window_of(readings, unit, RULES, now=now)
    own = judge(window, unit, RULES, idle_w=own_idle_w, now=now)
    return settled(own, previous, window, unit, RULES, own_idle_w=own_idle_w)
