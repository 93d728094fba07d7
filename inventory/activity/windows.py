"""The readings of one GPU over a time, summed up. `judging/windows.py` sums up a whole fleet's the same way in SQL."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from inventory.activity.rules import BUSY_FROM_PCT, Rules


class Reading(NamedTuple):
    """What a GPU showed at an instant; None is unknown. `energy_j` is a counter, `running` counts processes."""

    at: datetime
    holder: str | None = ""
    util_pct: float | None = None
    util_peak_pct: float | None = None
    engine_pct: float | None = None
    power_w: float | None = None
    energy_j: float | None = None
    mem_used_mib: float | None = None
    running: int | None = None

    @property
    def tells_use(self) -> bool:
        """Whether it says how much the GPU was used."""
        return self.util_pct is not None or self.engine_pct is not None

    @property
    def shows_use(self) -> bool:
        """Whether anything ran, however little."""
        return any((value or 0) > 0 for value in (self.util_pct, self.util_peak_pct, self.engine_pct))

    @property
    def is_busy(self) -> bool:
        """Whether it is work: the definition for single readings, on pages and in the ledger."""
        return any((value or 0) >= BUSY_FROM_PCT for value in (self.util_pct, self.engine_pct))


class Unit(NamedTuple):
    """What is known of the GPU apart from its readings. `holder`: by the newest reading, None where no node says it."""

    holder: str | None
    booted_at: datetime | None = None
    is_lost: bool = False
    is_reserve_told: bool = True
    shares_memory: bool = False
    limit_w: float | None = None
    only_zombies: bool = False


class Window(NamedTuple):
    """The readings in one holder's hands since `begins_at`. Instants are None where no reading shows it.

    `valid`: readings that tell use; `peaks`: those that miss nothing between two; `shown`: those in which anything ran.
    `told_at`, `first_told_at`: the newest and the first that tell use. Of the last few intervals: `recent`,
    `recent_empty`. `empty_at`, `present_at`, `left_at`: newest that shows nobody there, somebody, memory or use that
    nobody's process explains. `process_at`: newest in which a process may have been. `occupied_at`: newest not empty.
    `energy_w`: mean power by the counter, without a gap.
    """

    begins_at: datetime
    valid: int = 0
    peaks: int = 0
    shown: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    first_told_at: datetime | None = None
    told_at: datetime | None = None
    first_shown_at: datetime | None = None
    util_mean_pct: float | None = None
    util_max_pct: float | None = None
    engine_max_pct: float | None = None
    power_w: float | None = None
    energy_w: float | None = None
    recent: int = 0
    recent_empty: int = 0
    empty_at: datetime | None = None
    present_at: datetime | None = None
    left_at: datetime | None = None
    process_at: datetime | None = None
    occupied_at: datetime | None = None

    @property
    def mean_power_w(self) -> float | None:
        """By the counter where there is one."""
        return self.power_w if self.energy_w is None else self.energy_w


def window_of(readings: Iterable[Reading], unit: Unit, rules: Rules, *, now: datetime) -> Window:
    """The window that ends `now`; the order of `readings` does not matter."""
    begins_at = max(now - timedelta(seconds=rules.window_s), unit.booted_at or datetime.min.replace(tzinfo=now.tzinfo))
    own = (row for row in readings if row.holder == unit.holder)
    rows = sorted((row for row in own if begins_at <= row.at <= now), key=lambda row: row.at)
    told = [row for row in rows if row.tells_use]
    shown = [row for row in rows if row.shows_use]
    recent = [row for row in rows if row.at > now - timedelta(seconds=rules.stale_s)]
    floor_mib = rules.floor(is_reserve_told=unit.is_reserve_told)

    def is_empty(row: Reading) -> bool:
        if row.running != 0 or (row.util_pct or 0) >= BUSY_FROM_PCT:
            return False
        return unit.shares_memory or (row.mem_used_mib is not None and row.mem_used_mib <= floor_mib)

    def holds_memory(row: Reading) -> bool:
        return not unit.shares_memory and row.mem_used_mib is not None and row.mem_used_mib > floor_mib

    def is_present(row: Reading) -> bool:
        return (row.running or 0) > 0 or (row.running is None and holds_memory(row))

    def is_left(row: Reading) -> bool:
        return row.running == 0 and (holds_memory(row) or (row.util_pct or 0) >= BUSY_FROM_PCT)

    utils = [row.util_pct for row in rows if row.util_pct is not None]
    powers = [row.power_w for row in rows if row.power_w is not None]
    return Window(
        begins_at=begins_at,
        valid=len(told),
        peaks=sum(row.util_peak_pct is not None for row in told),
        shown=len(shown),
        first_at=rows[0].at if rows else None,
        last_at=rows[-1].at if rows else None,
        first_told_at=told[0].at if told else None,
        told_at=told[-1].at if told else None,
        first_shown_at=shown[0].at if shown else None,
        util_mean_pct=sum(utils) / len(utils) if utils else None,
        util_max_pct=max(
            (value for row in rows for value in (row.util_pct, row.util_peak_pct) if value is not None), default=None
        ),
        engine_max_pct=max((row.engine_pct for row in rows if row.engine_pct is not None), default=None),
        power_w=sum(powers) / len(powers) if powers else None,
        energy_w=_energy_w(rows),
        recent=len(recent),
        recent_empty=sum(map(is_empty, recent)),
        empty_at=max((row.at for row in rows if is_empty(row)), default=None),
        present_at=max((row.at for row in rows if is_present(row)), default=None),
        left_at=max((row.at for row in rows if is_left(row)), default=None),
        process_at=max((row.at for row in rows if row.running != 0), default=None),
        occupied_at=max((row.at for row in rows if not is_empty(row)), default=None),
    )


def _energy_w(rows: list[Reading]) -> float | None:
    """Mean power between the first and the last count; None where the counter began anew in between."""
    counts = [(row.at, row.energy_j) for row in rows if row.energy_j is not None]
    if len(counts) < 2:
        return None
    seconds = (counts[-1][0] - counts[0][0]).total_seconds()
    values = [value for _at, value in counts]
    if seconds <= 0 or values[-1] < max(values) or values[0] > min(values):
        return None
    return (values[-1] - values[0]) / seconds
