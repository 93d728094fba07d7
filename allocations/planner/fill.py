"""Lots that are taken whole or not at all: the largest sum that does not exceed a number, at the least cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import gcd

NEVER = 1 << 160
"""Above every cost: five counts of 24 bits each are packed into one (see `offers`)."""


@dataclass(frozen=True, slots=True)
class Fill:
    """`gpus` in all at `cost`, by taking the cheapest `lots[size]` lots of every size."""

    gpus: int
    cost: int
    lots: Mapping[int, int]


def largest_sum(counts: Mapping[int, int], gpus: int) -> int:
    """The largest number up to `gpus` that is a sum of lots; `counts`: size -> how many there are."""
    sums, mask = 1, (1 << (gpus + 1)) - 1
    for size, count in counts.items():
        left, power = min(count, gpus // size), 1
        while left > 0:
            step = min(power, left)
            sums |= (sums << (size * step)) & mask
            left, power = left - step, power * 2
    return sums.bit_length() - 1


def fill(runs: Iterable[tuple[int, int, int]], gpus: int) -> Fill:
    """The largest sum up to `gpus`, and of all ways to reach it one of the least cost; runs are (size, cost, count).

    Exact. Within one size the cheapest go first, so the cost by number of lots is convex; sizes are joined one by one.
    """
    by_size: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for size, cost, count in runs:
        if size <= gpus:
            by_size[size].append((cost, count))
    if not by_size:
        return Fill(0, 0, {})
    if len(by_size) == 1:
        [(size, only)] = by_size.items()
        return _one_size(size, sorted(only), gpus)
    unit = gcd(*by_size)
    total = largest_sum({size: sum(count for _, count in run) for size, run in by_size.items()}, gpus)
    curves = {size: _curve(sorted(run), total // size) for size, run in by_size.items()}
    order = sorted(curves, key=lambda size: (size * len(curves[size]), size))
    table, steps = [0], []
    for size in order[:-1]:
        table, choice = _join(table, curves[size], size // unit, total // unit)
        steps.append((size, choice))
    return _trace(table, steps, (order[-1], curves[order[-1]]), total, unit)


def _one_size(size: int, runs: list[tuple[int, int]], gpus: int) -> Fill:
    wanted, taken, spent = gpus // size, 0, 0
    for cost, count in runs:
        step = min(count, wanted - taken)
        taken, spent = taken + step, spent + step * cost
    return Fill(taken * size, spent, {size: taken})


def _curve(runs: list[tuple[int, int]], most: int) -> list[int]:
    """Number of lots, from 0 -> the cost of the cheapest so many."""
    costs = [cost for cost, count in runs for _ in range(min(count, most))]
    return [0, *accumulate(costs[:most])]


def _join(table: list[int], curve: list[int], size: int, total: int) -> tuple[list[int], list[int]]:
    """The table with lots of one more size, and how many of them each sum takes; sums count common divisors.

    In each residue class of `size` the best number of lots grows with the sum (the curve is convex), so divide and
    conquer finds them all in O(n log n) instead of O(n * lots).
    """
    length = min(total, len(table) - 1 + size * (len(curve) - 1)) + 1
    joined, choice = [NEVER] * length, [0] * length
    for residue in range(min(size, length)):
        column = table[residue::size]
        rows = (length - residue + size - 1) // size
        spans = [(0, rows, 0, len(column))] if column else []
        while spans:
            low, high, first, last = spans.pop()
            row = (low + high) // 2
            best, at = min((column[j] + _priced(curve, row - j), j) for j in range(first, last))
            if best < NEVER:
                joined[residue + size * row], choice[residue + size * row] = best, row - at
            if low < row:
                spans.append((low, row, first, at + 1))
            if row + 1 < high:
                spans.append((row + 1, high, at, last))
    return joined, choice


def _priced(curve: list[int], lots: int) -> int:
    """The curve, carried on so steeply on both sides that it stays convex and nothing impossible is best."""
    if lots < 0:
        return -lots * NEVER
    over = lots - len(curve) + 1
    return curve[-1] + over * NEVER if over > 0 else curve[lots]


def _trace(
    table: list[int], steps: list[tuple[int, list[int]]], last: tuple[int, list[int]], total: int, unit: int
) -> Fill:
    size, curve = last
    step = size // unit
    low = max(0, -(-(total // unit - len(table) + 1) // step))
    high = min(len(curve) - 1, total // size)
    spent, taken = min((table[total // unit - step * lots] + curve[lots], lots) for lots in range(low, high + 1))
    lots, left = {size: taken}, total // unit - step * taken
    for earlier, choice in reversed(steps):
        lots[earlier] = choice[left]
        left -= choice[left] * earlier // unit
    return Fill(total, spent, lots)
