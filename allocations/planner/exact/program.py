"""An integer program, solved by HiGHS: exact, one thread, limits in work and not in seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import highspy
import numpy as np

# Objectives are whole numbers: a gap below one is none.
WHOLE_GAP = 0.9
# A tree of that many nodes is far more than any instance needed; the same input ends at the same place.
MOST_NODES = 2_000_000
_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("output_flag", False),
    ("threads", 1),
    ("random_seed", 0),
    ("mip_rel_gap", 0.0),
    ("mip_abs_gap", WHOLE_GAP),
    ("mip_feasibility_tolerance", 1e-7),
    ("mip_max_nodes", MOST_NODES),
)

Terms = Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Solution:
    """Whole values by column; `bound`: no solution has a smaller cost; `is_proven`: this one has the smallest."""

    values: list[int]
    cost: int
    bound: int
    is_proven: bool


@dataclass(slots=True)
class Program:
    """Columns with costs and bounds, rows over them; to be minimised."""

    costs: list[float] = field(default_factory=list)
    uppers: list[float] = field(default_factory=list)
    rows: list[tuple[Terms, float, float]] = field(default_factory=list)

    def column(self, upper: float, cost: float = 0.0) -> int:
        """A whole number from 0 to `upper`; its place."""
        self.costs.append(cost)
        self.uppers.append(upper)
        return len(self.costs) - 1

    def add_cost(self, column: int, cost: float) -> None:
        """The column costs that much more."""
        self.costs[column] += cost

    def at_most(self, terms: Terms, limit: float) -> None:
        """The sum is `limit` or less."""
        self.rows.append((terms, -inf, limit))

    def equal(self, terms: Terms, value: float) -> None:
        """The sum is exactly `value`."""
        self.rows.append((terms, value, value))

    def solve(self, costs: Mapping[int, float] | None = None) -> Solution | None:
        """The cheapest solution, by `costs` where given (column -> cost, else 0); None where there is none."""
        own = [0.0] * len(self.costs) if costs is not None else self.costs
        for column, cost in (costs or {}).items():
            own[column] = cost
        solver = _solver()
        solver.passModel(self._model(own))
        solver.run()
        status, info = solver.getModelStatus(), solver.getInfo()
        if not solver.getSolution().value_valid:
            assert status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible), (
                status
            )
            return None
        values = [round(value) for value in solver.getSolution().col_value]
        cost = round(sum(value * each for value, each in zip(values, own, strict=True)))
        is_proven = status == highspy.HighsModelStatus.kOptimal
        return Solution(values, cost, cost if is_proven else int(np.ceil(info.mip_dual_bound - 1e-6)), is_proven)

    def _model(self, costs: Sequence[float]) -> Any:
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(costs), len(self.rows)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.array(costs), np.zeros(len(costs)), np.array(self.uppers)
        lp.integrality_ = [highspy.HighsVarType.kInteger] * len(costs)
        lp.row_lower_ = np.array([lower for _terms, lower, _upper in self.rows])
        lp.row_upper_ = np.array([upper for _terms, _lower, upper in self.rows])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.cumsum([0] + [len(terms) for terms, _lower, _upper in self.rows])
        lp.a_matrix_.index_ = np.array([column for terms, *_ in self.rows for column, _factor in terms], dtype=np.int32)
        lp.a_matrix_.value_ = np.array([factor for terms, *_ in self.rows for _column, factor in terms], dtype=float)
        return lp


def _solver() -> Any:
    # The class below highspy.Highs: that one's constructor writes a banner to the standard output.
    make: Any = highspy.Highs.__mro__[1]
    solver = make()
    for name, value in _OPTIONS:
        solver.setOptionValue(name, value)
    return solver
