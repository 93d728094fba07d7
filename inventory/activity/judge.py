"""From a window of readings to what the GPU does, and since when. Unknown is never idle, and never empty."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from inventory.activity.rules import BUSY_FROM_PCT, Rules
from inventory.activity.windows import Unit, Window

State = Literal["empty", "held_idle", "low", "active", "ghost", "hung", "unknown"]
# How fast the learned idle power follows what a resting card draws: the room's heat moves it over hours.
LEARNED_SHARE = 0.2


class Previous(NamedTuple):
    """What was judged last time."""

    state: str
    since: datetime
    judged_at: datetime
    holder: str
    idle_w: float | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a GPU does. `why` is one short sentence with its figures; `idle_w` what it draws at rest, as learned."""

    state: State
    since: datetime
    why: str
    coverage_pct: float
    idle_w: float | None = None


def judge(window: Window, unit: Unit, rules: Rules, *, idle_w: float | None, now: datetime) -> Verdict:
    """What the GPU does `now`, by this window alone. `idle_w`: what it, or its model, draws at rest; None unknown.

    `since` goes back to the window's begin at most; `settled` joins it to the verdict before.
    """
    coverage_pct = min(100.0, 100 * window.valid * rules.interval_s / rules.window_s)
    state, since, why = _state(window, unit, rules, idle_w, coverage_pct, now)
    return Verdict(state, since or now, why, coverage_pct, idle_w)


def settled(
    verdict: Verdict, previous: Previous | None, window: Window, unit: Unit, rules: Rules, *, own_idle_w: float | None
) -> Verdict:
    """The verdict with its true beginning and what it teaches about the card's idle power.

    What goes on began when it began, if it was judged without a break, in the same hands and the same boot.
    """
    since = verdict.since
    goes_on = (
        previous is not None
        and previous.state == verdict.state
        and previous.holder == (unit.holder or "")
        and previous.judged_at >= window.begins_at
    )
    if goes_on and previous is not None:
        since = min(since, max(previous.since, unit.booted_at or previous.since))
    return replace(verdict, since=since, idle_w=_learned(verdict, window, rules, own_idle_w))


def _state(
    window: Window, unit: Unit, rules: Rules, idle_w: float | None, coverage_pct: float, now: datetime
) -> tuple[State, datetime | None, str]:
    if unit.is_lost or window.last_at is None:
        return "unknown", window.told_at, "it is lost" if unit.is_lost else "it was not read"
    if (now - window.last_at).total_seconds() > rules.stale_s:
        return "unknown", window.told_at, "it was not read lately"
    if window.recent >= 2 and window.recent == window.recent_empty:
        return "empty", window.occupied_at or window.first_at, f"no process and no memory in {window.recent} readings"
    newest = max((at for at in (window.empty_at, window.present_at, window.left_at) if at), default=None)
    if (newest and window.left_at == newest) or (unit.only_zombies and not window.shown):
        return _left_behind(window, unit, rules, now)
    if newest is None or window.present_at != newest:
        return "unknown", window.told_at, "neither processes nor memory tell yet whether somebody is there"
    is_fresh = window.told_at is not None and (now - window.told_at).total_seconds() <= rules.stale_s
    if not is_fresh:
        return "unknown", window.told_at, "its use is not told"
    return _use(window, unit, rules, idle_w, coverage_pct)


def _left_behind(window: Window, unit: Unit, rules: Rules, now: datetime) -> tuple[State, datetime | None, str]:
    """Memory is held, or kernels run, and no living process explains it."""
    limit = now - timedelta(seconds=rules.ghost_after_s)
    since = window.first_at if unit.only_zombies else window.process_at or window.first_at
    what = "only dead processes hold it" if unit.only_zombies else "no process explains its memory or its use"
    if since is not None and since <= limit:
        return "ghost", since, what
    return "unknown", since, f"{what}, for a short while"


def _use(
    window: Window, unit: Unit, rules: Rules, idle_w: float | None, coverage_pct: float
) -> tuple[State, datetime | None, str]:
    power_w, mean_pct = window.mean_power_w, window.util_mean_pct or 0.0
    is_known = power_w is not None and idle_w is not None
    draws = power_w is not None and idle_w is not None and power_w > idle_w + rules.margin(idle_w, unit.limit_w)
    figures = f"{mean_pct:.0f} % on average" + ("" if power_w is None else f", {power_w:.0f} W")
    if is_known:
        figures += f" where {idle_w:.0f} W is rest"
    is_covered = coverage_pct >= rules.coverage_pct
    misses_nothing = window.valid > 0 and window.peaks == window.valid
    if (window.engine_max_pct or 0) >= BUSY_FROM_PCT:
        return "active", window.first_shown_at, f"video engines up to {window.engine_max_pct:.0f} %, {figures}"
    if window.shown and (draws or (not is_known and mean_pct >= BUSY_FROM_PCT)):
        return "active", window.first_shown_at, figures
    if not is_covered:
        return "unknown", window.told_at, f"{coverage_pct:.0f} % of its readings are there"
    if window.shown and mean_pct >= rules.hung_from_pct and is_known:
        return "hung", window.first_told_at, f"kernels all the time at idle power: {figures}"
    if window.shown:
        return "low", window.first_told_at, f"something ran in {window.shown} of {window.valid} readings: {figures}"
    if draws and not misses_nothing:
        return "active", window.first_told_at, f"it draws power between the readings: {figures}"
    return "held_idle", window.first_told_at, f"nothing ran in {window.valid} readings: {figures}"


def _learned(verdict: Verdict, window: Window, rules: Rules, before_w: float | None) -> float | None:
    """What a card draws while surely nothing runs: nobody is there, or no kernel could have been missed."""
    power_w = window.mean_power_w
    was_empty = verdict.state == "empty" and window.occupied_at is None
    missed_nothing = verdict.state == "held_idle" and window.peaks == window.valid
    is_covered = verdict.coverage_pct >= rules.coverage_pct
    if power_w is None or not is_covered or not (was_empty or missed_nothing):
        return before_w
    return power_w if before_w is None else before_w + LEARNED_SHARE * (power_w - before_w)
