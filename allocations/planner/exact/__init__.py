"""Which nodes whole needs get: exact, by one integer program over classes of equal nodes. Plain values in and out."""

from allocations.planner.exact.answers import Answer, Infeasible, Relocation, solve
from allocations.planner.exact.problem import BadInstance, Holding, Need, Node, Problem, Project, read_problem

__all__ = [
    "Answer",
    "BadInstance",
    "Holding",
    "Infeasible",
    "Need",
    "Node",
    "Problem",
    "Project",
    "Relocation",
    "read_problem",
    "solve",
]
