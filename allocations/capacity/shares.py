"""What each division may promise: healthy GPUs over time, cut by the split that is in force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from .timeline import Booking, Timeline, instant


@dataclass(frozen=True, slots=True)
class SplitTerm:
    """From `at` on, until a later term: division -> percent of the healthy GPUs; what is left of 100 is the reserve."""

    at: datetime
    percents: Mapping[str, Decimal]

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", instant(self.at))


def apportion(total: int, percents: Mapping[str, Decimal], *, reserve: str) -> dict[str, int]:
    """Key -> whole GPUs by largest remainder, the rest of 100 % under the key `reserve`; the numbers sum to `total`.

    Equal remainders: the larger percent first, then the name, then the reserve. A division can lose one GPU
    when the total grows by one (the known paradox of largest remainders), and each number stays within one of its
    exact share.
    Raises ValueError for a negative total, a percent that is negative or no number, a sum above 100, a taken key.
    """
    if total < 0:
        raise ValueError(f"{total} GPUs to apportion")
    if reserve in percents:
        raise ValueError(f"{reserve!r} is the reserve's key and a division's")
    if not all(percent.is_finite() and percent >= 0 for percent in percents.values()):
        raise ValueError(f"percents must be numbers from 0 on: {dict(percents)}")
    exact = {key: Fraction(percent) for key, percent in percents.items()}
    exact[reserve] = 100 - sum(exact.values(), Fraction(0))
    if exact[reserve] < 0:
        raise ValueError(f"percents sum to more than 100: {dict(percents)}")
    quotas = {key: total * percent / 100 for key, percent in exact.items()}
    whole = {key: int(quota) for key, quota in quotas.items()}
    order = sorted(quotas, key=lambda key: (whole[key] - quotas[key], key == reserve, -exact[key], key))
    for key in order[: total - sum(whole.values())]:
        whole[key] += 1
    return whole


def healthy(gpus_now: int, outages: Iterable[Booking], arrivals: Iterable[Booking] = ()) -> Timeline:
    """The usable GPUs at each instant: those there are, less what is out then, plus what has arrived; never below 0.

    `gpus_now` counts those that are out now, too: an outage (cordon, lost card) takes its GPUs away for its time.
    """
    return (Timeline.of(gpus_now, arrivals) - Timeline.of(0, outages)).clamp(low=0)


def share(healthy: Timeline, splits: Sequence[SplitTerm], division: str) -> Timeline:
    """What the division may promise at each instant; 0 before the first split and where a split does not name it.

    Of two terms with one instant the later in the sequence holds.
    """
    in_force = dict(sorted(((term.at, term.percents) for term in splits), key=lambda pair: pair[0]))
    percents = list(in_force.values())
    chosen = Timeline.through(0, ((at, index) for index, at in enumerate(in_force, start=1)))
    reserve = "-" + "".join(key for terms in percents for key in terms)  # longer than any of them, so no division's

    def portion(term: int, total: int) -> int:
        return apportion(total, percents[term - 1], reserve=reserve).get(division, 0) if term else 0

    return chosen.combine(healthy.clamp(low=0), portion)
