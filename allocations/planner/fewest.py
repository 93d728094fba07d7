"""The fewest donors, or islands, that still allow the same plan, found in a counted number of looks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Generic, TypeVar

L = TypeVar("L", bound=Hashable)

# A try looks at every kind of offer once, at about 1.5 us each.
LOOKS = 200_000  # for one proposal: 0.3 s; after that nobody is left out any more
LOOKS_AT_SETS = 15_000  # for one question, at all sets of one size and another: fleets of about ten donors are exact


@dataclass(slots=True)
class Looks:
    """How many looks are left: a count, not a clock, so that equal input gives equal plans."""

    left: int = LOOKS

    def spend(self, looks: int) -> bool:
        """Whether so many were left; they are gone then."""
        if looks > self.left:
            return False
        self.left -= looks
        return True


@dataclass(frozen=True, slots=True)
class Question(Generic[L]):
    """Which of `labels` are needed.

    `value` is None for a set that does not suffice, else the less the better; one label more never makes it None.
    `start` suffices. Every set that suffices weighs `wanted` at least. A call of `value` costs `looks`.
    """

    labels: Sequence[L]
    start: frozenset[L]
    value: Callable[[frozenset[L]], int | None]
    weight: Mapping[L, int]
    wanted: int
    looks: int


def fewest(question: Question[L], looks: Looks) -> tuple[frozenset[L], bool]:
    """The fewest labels that suffice, among those the ones of least value; and whether fewer are proven impossible.

    Exact while the looks for sets last. After that nobody is left in who could be left out alone.
    """
    value, everything = question.value, frozenset(question.labels)
    if value(frozenset()) is not None:
        return frozenset(), True
    if not looks.spend(question.looks * len(question.start)):
        return question.start, False
    must = frozenset(label for label in question.start if value(everything - {label}) is None)
    rest = [label for label in question.labels if label not in must]
    floor, sets_left = _floor(question, must, rest), Looks(min(LOOKS_AT_SETS, looks.left))
    for count in range(floor, len(rest) + 1):
        cost = question.looks * comb(len(rest), count)
        if not (sets_left.spend(cost) and looks.spend(cost)):
            break
        sets = (must | frozenset(some) for some in combinations(rest, count))
        found = [(worth, index, some) for index, some in enumerate(sets) if (worth := value(some)) is not None]
        if found:
            return min(found, key=lambda entry: entry[:2])[2], True
        floor = count + 1
    few = _without_idle(question, must, rest, looks)
    return few, len(few - must) <= floor


def _floor(question: Question[L], must: frozenset[L], rest: Sequence[L]) -> int:
    """No fewer of the rest can suffice: the heaviest so many do not weigh enough."""
    missing = question.wanted - sum(question.weight.get(label, 0) for label in must)
    count = 0
    for weight in sorted((question.weight.get(label, 0) for label in rest), reverse=True):
        if missing <= 0:
            break
        missing, count = missing - weight, count + 1
    return count


def _without_idle(question: Question[L], must: frozenset[L], rest: Sequence[L], looks: Looks) -> frozenset[L]:
    """The start, or the heaviest that suffice if they are fewer, less everybody whom the plan does not need."""
    low, high = 0, len(rest)
    while low < high:
        middle = (low + high) // 2
        enough = question.value(must | frozenset(rest[:middle])) is not None
        low, high = (low, middle) if enough else (middle + 1, high)
    heaviest = must | frozenset(rest[:low])
    few = min(heaviest, question.start | must, key=len)
    for label in reversed(rest):
        if label in few and looks.spend(question.looks) and question.value(few - {label}) is not None:
            few -= {label}
    return few
