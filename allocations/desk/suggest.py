"""The set of pitches that gives most of an approver's ranking under the cap, exactly, and why others are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any

import highspy
import numpy as np

from .judge import Ask

MOST_NODES = 2_000  # of the search tree, a second or two of work; nodes and not seconds, so that a repeat says the same
WHOLE_GAP = 0.5  # weights are whole numbers: a smaller gap proves the best
HALF = 0.5  # a binary variable of the solver is 0 or 1 within its tolerance
_OPTIONS: Sequence[tuple[str, object]] = (
    ("output_flag", False),
    ("threads", 1),
    ("random_seed", 0),
    ("mip_rel_gap", 0.0),
    ("mip_abs_gap", WHOLE_GAP),
    ("mip_max_nodes", MOST_NODES),
)
Entries = list[tuple[int, float]]  # (column, factor) of one row of the program


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An ask that is not suggested. `instead`: suggested ones that would have to go for its least number.

    None where it does not fit even alone. No smaller part of `instead` would do; the lowest ranks go first.
    """

    key: str
    instead: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Key -> GPUs (all on the table, or the least that helps), the highest rank first.

    `weight` is what it has of the ranking, `bound` what no set can exceed: equal where this is proven the best.
    """

    gpus: Mapping[str, int]
    weight: int
    bound: int
    left_out: tuple[LeftOut, ...]

    @property
    def is_best(self) -> bool:
        """Whether nothing better exists."""
        return self.weight == self.bound


def suggest(room: Sequence[int], asks: Sequence[Ask], weights: Mapping[str, int]) -> Suggestion:
    """The asks with the largest sum of weights that fit together at every instant, each with all it asks or its least.

    The set has the most of the ranking with each at its least; within it the most of the ranking gets all it asks for.
    `weights` are whole and above 0. The order in which `asks` come does not matter.
    """
    ranked = sorted(asks, key=lambda ask: (-weights[ask.key], ask.key))
    if not ranked:
        return Suggestion({}, 0, 0, ())
    values = [weights[ask.key] for ask in ranked]
    rows = _rows(room, ranked)
    picked, bound = _solve(
        [float(value) for value in values],
        [([(i, float(ranked[i].least)) for i in within], float(cap)) for within, cap in rows],
    )
    weight = sum(value for value, is_in in zip(values, picked, strict=True) if is_in)
    # Which of several equally good sets that is, the canonical order decides; within it as many as possible get it all.
    inside = [i for i, is_in in enumerate(picked) if is_in]
    place = {i: column for column, i in enumerate(inside)}
    raised, _ = _solve(
        [float(values[i]) for i in inside],
        [
            (
                [(place[i], float(ranked[i].gpus - ranked[i].least)) for i in within if i in place],
                float(cap - sum(ranked[i].least for i in within if i in place)),
            )
            for within, cap in rows
        ],
    )
    gpus = {ranked[i].key: ranked[i].gpus if raised[column] else ranked[i].least for i, column in place.items()}
    return Suggestion(gpus, weight, max(weight, floor(bound + WHOLE_GAP / 2)), _left_out(room, ranked, gpus))


def _rows(room: Sequence[int], asks: Sequence[Ask]) -> list[tuple[list[int], int]]:
    """Which asks meet in a stretch and what there is for them; stretches that bind nobody are left out."""
    tightest: dict[tuple[int, ...], int] = {}
    for stretch, free in enumerate(room):
        within = tuple(i for i, ask in enumerate(asks) if ask.first <= stretch < ask.last)
        cap = max(0, free)
        if sum(asks[i].gpus for i in within) > cap:
            tightest[within] = min(cap, tightest.get(within, cap))
    return [(list(within), cap) for within, cap in tightest.items()]


def _solve(values: Sequence[float], rows: Sequence[tuple[Entries, float]]) -> tuple[list[bool], float]:
    """Binary columns of the largest value with every row at most its cap, and the bound on that value."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(values), len(rows)
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.array(values), np.zeros(len(values)), np.ones(len(values))
    lp.integrality_ = [highspy.HighsVarType.kInteger] * len(values)
    lp.row_lower_ = np.full(len(rows), -highspy.kHighsInf)
    lp.row_upper_ = np.array([cap for _, cap in rows])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.cumsum([0] + [len(entries) for entries, _ in rows])
    lp.a_matrix_.index_ = np.array([column for entries, _ in rows for column, _ in entries])
    lp.a_matrix_.value_ = np.array([factor for entries, _ in rows for _, factor in entries])
    solver = _solver()
    solver.passModel(lp)
    solver.run()
    found = list(solver.getSolution().col_value)
    if not solver.getSolution().value_valid:
        return [False] * len(values), float(sum(values))  # nothing is always possible
    return [each > HALF for each in found], float(solver.getInfo().mip_dual_bound)


def _solver() -> Any:
    # The class below highspy.Highs: that one's constructor writes a banner to the standard output.
    make: Any = highspy.Highs.__mro__[1]
    solver = make()
    for name, value in _OPTIONS:
        solver.setOptionValue(name, value)
    return solver


def _left_out(room: Sequence[int], ranked: Sequence[Ask], gpus: Mapping[str, int]) -> tuple[LeftOut, ...]:
    by_key = {ask.key: ask for ask in ranked}
    left = list(room)
    for key, count in gpus.items():
        for stretch in range(by_key[key].first, by_key[key].last):
            left[stretch] -= count
    return tuple(LeftOut(ask.key, _instead(left, ask, by_key, gpus)) for ask in ranked if ask.key not in gpus)


def _instead(
    left: Sequence[int], ask: Ask, by_key: Mapping[str, Ask], gpus: Mapping[str, int]
) -> tuple[str, ...] | None:
    """Suggested asks whose going makes room for the least of `ask`; none of them could stay."""
    room = {stretch: left[stretch] - ask.least for stretch in range(ask.first, ask.last)}

    def shift(key: str, sign: int) -> None:
        other = by_key[key]
        for stretch in range(max(other.first, ask.first), min(other.last, ask.last)):
            room[stretch] += sign * gpus[key]

    gone: list[str] = []
    for key in reversed(list(gpus)):
        if min(room.values()) >= 0:
            break
        if by_key[key].first < ask.last and ask.first < by_key[key].last:
            shift(key, 1)
            gone.append(key)
    if min(room.values()) < 0:
        return None
    for key in reversed(gone):  # the highest rank comes back first, where it can
        shift(key, -1)
        if min(room.values()) < 0:
            shift(key, 1)
        else:
            gone.remove(key)
    return tuple(key for key in gpus if key in gone)
