"""Which pitches fit beside which: one budget over time as stretches in which nothing changes, so nothing is averaged.

`portal/static/allot/desk-rule.js` is the same rule for the browser; a test holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Ask:
    """`gpus` on the table, of which at least `least` help, over the stretches `first` to before `last`."""

    key: str
    first: int
    last: int
    gpus: int
    least: int


@dataclass(frozen=True, slots=True)
class Finding:
    """How one ask stands. `short_gpus` are missing at its tightest stretch `at`; 0 where it fits.

    `free_gpus` is what there is for it at that stretch. `displaces`: the asks that fit only without it, in the order
    of the asks.
    """

    fits: bool
    short_gpus: int
    free_gpus: int
    at: int
    displaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """`left` of each stretch after all that is taken, below 0 where that is too much; each ask's key -> its finding."""

    left: tuple[int, ...]
    findings: Mapping[str, Finding]


@dataclass(slots=True)
class _Standing:
    ask: Ask
    gpus: int
    low: int
    at: int
    is_held: bool = False


def judge(room: Sequence[int], asks: Sequence[Ask], taken: Mapping[str, int]) -> Judgement:
    """How every ask stands when `taken` (key -> GPUs, the highest rank first) is taken from `room`.

    What is taken is given in that order: one that no longer fits falls out and leaves its GPUs to the lower ranks.
    The others are judged beside what is left then.
    """
    by_key = {ask.key: ask for ask in asks}
    left, kept = list(room), list(room)
    standings: dict[str, _Standing] = {}
    for key, gpus in taken.items():
        ask = by_key[key]
        low, at = _tightest(kept, ask)
        standings[key] = _Standing(ask, gpus, low, at, is_held=low >= gpus)
        for stretch in range(ask.first, ask.last):
            left[stretch] -= gpus
            kept[stretch] -= gpus if low >= gpus else 0
    for ask in asks:
        if ask.key not in standings:
            standings[ask.key] = _Standing(ask, ask.gpus, *_tightest(kept, ask))
    ordered = [standings[ask.key] for ask in asks]
    displaced = _displaced(ordered, _Lows(kept))
    return Judgement(
        tuple(left),
        {
            each.ask.key: Finding(
                each.low >= each.gpus, max(0, each.gpus - each.low), each.low, each.at, tuple(displaced[place])
            )
            for place, each in enumerate(ordered)
        },
    )


def _tightest(room: Sequence[int], ask: Ask) -> tuple[int, int]:
    within = room[ask.first : ask.last]
    low = min(within)
    return low, ask.first + within.index(low)


class _Lows:
    """The smallest number of any run of stretches, in constant time."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._levels: list[list[int]] = [list(numbers)]
        width = 1
        while 2 * width <= len(numbers):
            last = self._levels[-1]
            self._levels.append([min(pair) for pair in zip(last, last[width:], strict=False)])
            width *= 2

    def of(self, first: int, last: int) -> float:
        """The smallest from `first` to before `last`; no limit where that is nothing."""
        if first >= last:
            return inf
        level = (last - first).bit_length() - 1
        numbers = self._levels[level]
        return min(numbers[first], numbers[last - (1 << level)])


def _displaced(ordered: Sequence[_Standing], lows: _Lows) -> list[list[str]]:
    """For each ask the keys that fit without it and do not fit with it."""
    displaced: list[list[tuple[int, str]]] = [[] for _ in ordered]
    held = [(place, each) for place, each in enumerate(ordered) if each.is_held]
    fitting = [(place, each) for place, each in enumerate(ordered) if not each.is_held and each.low >= each.gpus]
    out = [
        (place, each, int(lows.of(each.ask.first, each.ask.last)))
        for place, each in enumerate(ordered)
        if not each.is_held and each.low < each.gpus
    ]
    for index, (place, one) in enumerate(fitting):
        for other_place, other in fitting[index + 1 :]:
            both = one.gpus + other.gpus
            if one.low >= both or other.low >= both:
                continue
            first, last = max(one.ask.first, other.ask.first), min(one.ask.last, other.ask.last)
            if lows.of(first, last) < both:
                displaced[place].append((other_place, other.ask.key))
                displaced[other_place].append((place, one.ask.key))
    for place, one in held:
        for other_place, other, low in out:
            first, last = max(one.ask.first, other.ask.first), min(one.ask.last, other.ask.last)
            if first >= last or low >= other.gpus:
                continue
            without = min(
                lows.of(other.ask.first, first), lows.of(first, last) + one.gpus, lows.of(last, other.ask.last)
            )
            if without >= other.gpus:
                displaced[place].append((other_place, other.ask.key))
    return [[key for _place, key in sorted(found)] for found in displaced]
