"""The fewest donors, or islands, that still allow the same plan, found in a counted number of tries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Generic, TypeVar

L = TypeVar("L", bound=Hashable)

# Sets that are tried for one proposal before falling back to "leave out whom the plan does not need". One try costs
# 0.01 to 0.5 ms, so a proposal stays within a second; up to about ten donors that matter are exact.
TRIES = 1500


@dataclass(slots=True)
class Tries:
    """How many tries are left: a count, not a clock, so that equal input gives equal plans."""

    left: int = TRIES


@dataclass(frozen=True, slots=True)
class Question(Generic[L]):
    """Which of `labels` are needed.

    `value` is None for a set that does not suffice, else the less the better; one label more never makes it None.
    `start` suffices. Every set that suffices weighs `wanted` at least.
    """

    labels: Sequence[L]
    start: frozenset[L]
    value: Callable[[frozenset[L]], int | None]
    weight: Mapping[L, int]
    wanted: int


def fewest(question: Question[L], tries: Tries) -> tuple[frozenset[L], bool]:
    """The fewest labels that suffice, among those the ones of least value; and whether fewer are proven impossible.

    Exact while the tries last. After that nobody is left in who could be left out alone.
    """
    value, everything = question.value, frozenset(question.labels)
    if value(frozenset()) is not None:
        return frozenset(), True
    if len(question.start) > tries.left:
        return question.start, False
    tries.left -= len(question.start)
    must = frozenset(label for label in question.start if value(everything - {label}) is None)
    rest = [label for label in question.labels if label not in must]
    floor = _floor(question, must, rest)
    for count in range(floor, len(rest) + 1):
        if comb(len(rest), count) > tries.left:
            break
        tries.left -= comb(len(rest), count)
        floor = count
        sets = (must | frozenset(some) for some in combinations(rest, count))
        found = [(worth, index, some) for index, some in enumerate(sets) if (worth := value(some)) is not None]
        if found:
            return min(found, key=lambda entry: entry[:2])[2], True
        floor = count + 1
    few = _without_idle(question, must, rest, tries)
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


def _without_idle(question: Question[L], must: frozenset[L], rest: Sequence[L], tries: Tries) -> frozenset[L]:
    """The start, or the heaviest that suffice if they are fewer, less everybody whom the plan does not need."""
    low, high = 0, len(rest)
    while low < high:
        middle = (low + high) // 2
        enough = question.value(must | frozenset(rest[:middle])) is not None
        low, high = (low, middle) if enough else (middle + 1, high)
    heaviest = must | frozenset(rest[:low])
    few = min(heaviest, question.start | must, key=len)
    for label in reversed(rest):
        if label in few and tries.left > 0:
            tries.left -= 1
            if question.value(few - {label}) is not None:
                few -= {label}
    return few
