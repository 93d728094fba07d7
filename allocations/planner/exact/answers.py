"""What comes of a problem: the cheapest plan with its proof, or what is missing and whose consent alone would help."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from allocations.planner.exact.formulation import Formulation, formulate
from allocations.planner.exact.problem import Problem
from allocations.planner.exact.program import Solution


@dataclass(frozen=True, slots=True)
class Relocation:
    """A piece of a project that goes from a node that a need gets to one that none gets."""

    project: str
    source: str
    target: str
    gpus: int


@dataclass(frozen=True, slots=True)
class Answer:
    """`needs`: need -> nodes, in the order of ids; those left out are not met. `bound`: no plan is cheaper."""

    needs: dict[str, list[str]]
    relocations: list[Relocation]
    objective: int
    bound: int
    is_proven: bool


@dataclass(frozen=True, slots=True)
class Infeasible:
    """No plan obeys the rules. For a single need: nodes that it lacks, None where several needs compete.

    `unlocks`: projects of which each alone would make it possible by its consent, protection and guarantee given up.
    """

    short_nodes: int | None
    unlocks: list[str]


def solve(problem: Problem) -> Answer | Infeasible:
    """The cheapest plan, proven; the same for the same problem, in whatever order it was written down."""
    made = formulate(problem)
    solution = made.program.solve()
    if solution is None:
        return Infeasible(_short_nodes(problem), list(_unlocks(problem)))
    return _answer(made, solution)


def _short_nodes(problem: Problem) -> int | None:
    if len(problem.needs) != 1:
        return None
    [need] = problem.needs
    made = formulate(problem, flexible=True)
    most = made.program.solve(dict.fromkeys(made.gets.values(), -1.0))
    return need.nodes if most is None else max(0, need.nodes + most.cost)


def _unlocks(problem: Problem) -> Iterator[str]:
    held = {holding.project for holding in problem.holdings}
    for name, project in problem.projects.items():
        if name in held and (project.protected or project.guarantee):
            consents = replace(project, protected=False, guarantee=0)
            if formulate(replace(problem, projects={**problem.projects, name: consents})).program.solve({}):
                yield name


def _answer(made: Formulation, solution: Solution) -> Answer:
    values = solution.values
    cleared = {number: list(made.classes[number].nodes[: values[column]]) for number, column in made.cleared.items()}
    by_island: dict[str, list[str]] = defaultdict(list)
    for number, nodes in cleared.items():
        by_island[made.classes[number].island] += nodes
    needs: dict[str, list[str]] = defaultdict(list)
    for island, nodes in by_island.items():
        waiting = iter(sorted(nodes))
        for (need, there), column in made.gets.items():
            if there == island:
                needs[need] += [next(waiting) for _ in range(values[column])]
    ordered = {need: sorted(nodes) for need, nodes in sorted(needs.items()) if nodes}
    moves = list(_relocations(made, values, cleared))
    return Answer(ordered, moves, solution.cost, solution.bound, solution.is_proven)


def _relocations(made: Formulation, values: list[int], cleared: dict[int, list[str]]) -> Iterator[Relocation]:
    given = {node for nodes in cleared.values() for node in nodes}
    places: dict[tuple[object, int], list[str]] = defaultdict(list)
    for (pool, free, pattern), column in made.filled.items():
        holes = [
            node
            for each in made.classes
            if each.pool == pool and each.free == free
            for node in each.nodes
            if node not in given
        ]
        for _ in range(values[column]):
            node = holes.pop(0)
            given.add(node)  # a hole is filled once
            for size in pattern:
                places[pool, size].append(node)
    for (number, project), column in made.moved.items():
        each = made.classes[number]
        gpus = dict(each.held)[project]
        for source in cleared[number][: values[column]]:
            yield Relocation(project, source, places[each.pool, gpus].pop(0), gpus)
