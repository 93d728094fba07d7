"""The program of a problem: which nodes are cleared, what on them is taken or relocated, what is met where."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from allocations.planner.exact.classes import NodeClass, Pool, classes_of, is_usable, may_move, patterns, staying
from allocations.planner.exact.problem import Need, Problem
from allocations.planner.exact.program import Program


@dataclass(slots=True)
class Formulation:
    """The program and what its columns mean.

    `cleared`: class number -> nodes of it that needs get. `moved`: (class number, project) -> how many of those have
    that holding relocated. `filled`: (pool, free GPUs, pieces) -> holes filled so. `met`: need -> whether it is met.
    `gets`: (need, island) -> nodes that it gets there.
    """

    problem: Problem
    classes: list[NodeClass]
    program: Program = field(default_factory=Program)
    cleared: dict[int, int] = field(default_factory=dict)
    moved: dict[tuple[int, str], int] = field(default_factory=dict)
    filled: dict[tuple[Pool, int, tuple[int, ...]], int] = field(default_factory=dict)
    met: dict[str, int] = field(default_factory=dict)
    gets: dict[tuple[str, str], int] = field(default_factory=dict)


def formulate(problem: Problem, *, flexible: bool = False) -> Formulation:
    """The program of `problem`; `flexible`: the one need may get any number of nodes, to see how many there are."""
    made = Formulation(problem, classes_of(problem))
    _clear(made)
    _spare(made)
    _relocate(made)
    for need in problem.needs:
        _place(made, need, flexible=flexible)
    _share(made)
    _bind(made)
    return made


def _clear(made: Formulation) -> None:
    program, problem = made.program, made.problem
    approached: dict[str, int] = {}
    for number, each in enumerate(made.classes):
        if not is_usable(each, problem):
            continue
        column = made.cleared[number] = program.column(len(each.nodes))
        for project, gpus in each.held:
            owner = problem.projects[project]
            program.add_cost(column, owner.weight * gpus)
            if project not in approached:
                approached[project] = program.column(1, owner.fee)
            program.at_most([(column, 1), (approached[project], -len(each.nodes))], 0)
            if may_move(each, project, gpus, problem):
                cost = (problem.move_weight - owner.weight) * gpus
                moved = made.moved[number, project] = program.column(len(each.nodes), cost)
                program.at_most([(moved, 1), (column, -1)], 0)


def _spare(made: Formulation) -> None:
    """No project loses more than it has above its guarantee."""
    totals, losses = staying(made.problem), defaultdict[str, list[tuple[int, float]]](list)
    for number, column in made.cleared.items():
        for project, gpus in made.classes[number].held:
            losses[project].append((column, gpus))
            if (number, project) in made.moved:
                losses[project].append((made.moved[number, project], -gpus))
    for project, terms in losses.items():
        made.program.at_most(terms, max(0, totals[project] - made.problem.projects[project].guarantee))


def _relocate(made: Formulation) -> None:
    """Every piece that moves has a place in its pool, on a node that no need gets."""
    program = made.program
    pieces: dict[Pool, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for (number, project), column in made.moved.items():
        each = made.classes[number]
        pieces[each.pool][dict(each.held)[project]].append(column)
    for pool, by_size in pieces.items():
        room: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for free, holes, cleared in _holes(made, pool):
            filling = []
            for pattern in patterns(free, list(by_size)):
                if not pattern:
                    continue
                column = made.filled[pool, free, pattern] = program.column(holes)
                filling.append(column)
                for size in set(pattern):
                    room[size].append((column, -pattern.count(size)))
            program.at_most([(column, 1) for column in [*filling, *cleared]], holes)
        for size, moved in by_size.items():
            program.at_most([*((column, 1) for column in moved), *room[size]], 0)


def _holes(made: Formulation, pool: Pool) -> Iterator[tuple[int, int, list[int]]]:
    """(free GPUs, nodes with so many, columns that take such nodes away) in the pool."""
    nodes: dict[int, int] = defaultdict(int)
    cleared: dict[int, list[int]] = defaultdict(list)
    for number, each in enumerate(made.classes):
        if each.pool == pool and each.free:
            nodes[each.free] += len(each.nodes)
            if number in made.cleared:
                cleared[each.free].append(made.cleared[number])
    for free in sorted(nodes):
        yield free, nodes[free], cleared[free]


def _place(made: Formulation, need: Need, *, flexible: bool) -> None:
    program = made.program
    met = made.met[need.id] = program.column(1, -need.value)
    if need.must:
        program.equal([(met, 1)], 1)
    chosen: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for island, kind in _islands(made).items():
        if kind.pool[0] in need.models:
            chosen[_place_of(need, island, kind)].append(island)
    choices = []
    for islands in chosen.values():
        choice = program.column(1)
        choices.append(choice)
        gets = []
        for island in islands:
            most = sum(len(made.classes[number].nodes) for number in _cleared_in(made, island))
            column = made.gets[need.id, island] = program.column(most if flexible else min(need.nodes, most))
            program.at_most([(column, 1), (choice, -most)], 0)
            gets.append(column)
        if not flexible:
            program.equal([*((column, 1) for column in gets), (choice, -need.nodes)], 0)
    program.equal([*((choice, 1) for choice in choices), (met, -1)], 0)


def _place_of(need: Need, island: str, kind: NodeClass) -> tuple[str, ...]:
    model, site = kind.pool
    return {"island": (island,), "site": (model, site), "any": (model,)}[need.level]


def _islands(made: Formulation) -> dict[str, NodeClass]:
    """Island -> one of its classes: all of them have its model, size and site."""
    found: dict[str, NodeClass] = {}
    for each in made.classes:
        found.setdefault(each.island, each)
    return found


def _cleared_in(made: Formulation, island: str) -> Iterable[int]:
    return (number for number in made.cleared if made.classes[number].island == island)


def _share(made: Formulation) -> None:
    """What needs get in an island is what is cleared there."""
    for island in _islands(made):
        cleared = [(made.cleared[number], -1.0) for number in _cleared_in(made, island)]
        gets = [(column, 1.0) for (_need, there), column in made.gets.items() if there == island]
        made.program.equal([*gets, *cleared], 0)


def _bind(made: Formulation) -> None:
    """Budgets of divisions, bonuses of pairs, what requires and what excludes each other."""
    program, problem, met = made.program, made.problem, made.met
    sizes = {island: kind.size for island, kind in _islands(made).items()}
    division = {need.id: need.division for need in problem.needs}
    for name, gpus in problem.budget.items():
        terms = [(c, float(sizes[island])) for (need, island), c in made.gets.items() if division[need] == name]
        program.at_most(terms, gpus)
    for first, second, bonus in problem.pairs:
        both = program.column(1, -bonus)
        program.at_most([(both, 1), (met[first], -1)], 0)
        program.at_most([(both, 1), (met[second], -1)], 0)
        # A pair that costs is not left out of the count.
        program.at_most([(met[first], 1), (met[second], 1), (both, -1)], 1)
    for first, second in problem.requires:
        program.at_most([(met[first], 1), (met[second], -1)], 0)
    for group in problem.exclusive:
        program.at_most([(met[need], 1) for need in group], 1)
