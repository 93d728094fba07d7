"""Laws over tiny fleets, against a search that tries everything and knows only the rules."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from allocations.planner.exact import Answer, Holding, Infeasible, Need, Node, Problem, Project, solve

PROJECTS = ("p1", "p2", "p3")
SIZE = 4


@st.composite
def problems(draw) -> Problem:
    """Up to five nodes of four GPUs in two islands, three projects, one or two needs; each rule binds often."""
    islands = draw(st.lists(st.sampled_from(["a", "b"]), min_size=2, max_size=5))
    models = {"a": "H100", "b": draw(st.sampled_from(["H100", "A100"]))}
    nodes = [Node(f"n{number}", models[island], SIZE, island, "s") for number, island in enumerate(islands)]
    projects = {
        name: Project(
            name,
            protected=draw(st.integers(0, 4)) == 0,
            movable=draw(st.booleans()),
            guarantee=draw(st.sampled_from([0, 0, 2, 4])),
            weight=draw(st.integers(1, 6)),
            fee=draw(st.integers(0, 8)),
        )
        for name in PROJECTS
    }
    holdings = []
    for node in nodes:
        free = SIZE
        for name in PROJECTS:
            gpus = min(free, draw(st.sampled_from([0, 0, 1, 2, 4])))
            if gpus:
                holdings.append(Holding(node.id, name, gpus))
                free -= gpus
    needs = [
        Need(
            f"q{number}",
            draw(st.integers(1, 3)),
            ("A100", "H100") if draw(st.booleans()) else ("H100",),
            draw(st.sampled_from(["island", "any"])),
            draw(st.booleans()),
            draw(st.integers(0, 40)),
            "research",
        )
        for number in range(draw(st.integers(1, 2)))
    ]
    pairs = (("q0", "q1", draw(st.integers(-5, 9))),) if len(needs) == 2 and draw(st.booleans()) else ()
    exclusive = (("q0", "q1"),) if len(needs) == 2 and draw(st.integers(0, 3)) == 0 else ()
    budget = {"research": draw(st.sampled_from([4, 8, 12]))} if draw(st.booleans()) else {}
    return Problem(
        tuple(nodes), projects, tuple(holdings), tuple(needs), draw(st.booleans()), draw(st.integers(0, 2)), budget,
        pairs, (), exclusive,
    )  # fmt: skip


def held_on(problem: Problem) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for holding in problem.holdings:
        found[holding.node][holding.project] = holding.gpus
    return found


def cost_of(problem: Problem, needs: dict[str, list[str]], moves: dict[tuple[str, str], str]) -> int | None:
    """What the plan costs less what it is worth; None where it breaks a rule. `moves`: (project, from) -> to."""
    nodes, held = {node.id: node for node in problem.nodes}, held_on(problem)
    given_to = {node: need for need, each in needs.items() for node in each}
    room: dict[str, int] = defaultdict(int)
    taken: dict[str, int] = defaultdict(int)
    approached, cost = set(), 0
    for need in problem.needs:
        got = needs.get(need.id, [])
        if need.must and not got:
            return None
        if got:
            kinds = {nodes[node].model for node in got}
            places = {nodes[node].island for node in got}
            if len(got) != need.nodes or len(kinds) > 1 or not kinds <= set(need.models):
                return None
            if need.level == "island" and len(places) > 1:
                return None
            cost -= need.value
    for first, second, bonus in problem.pairs:
        cost -= bonus * (first in needs and second in needs)
    if any(sum(need in needs for need in group) > 1 for group in problem.exclusive):
        return None
    if any(SIZE * len(given_to) > gpus for gpus in problem.budget.values()):
        return None
    for node in given_to:
        for project, gpus in held[node].items():
            owner = problem.projects[project]
            if owner.protected:
                return None
            approached.add(project)
            if (target := moves.get((project, node))) is None:
                taken[project] += gpus
                cost += owner.weight * gpus
                continue
            if target in given_to or nodes[target].model != nodes[node].model or gpus >= SIZE or not owner.movable:
                return None
            room[target] += gpus
            cost += problem.move_weight * gpus
    if any(gpus > SIZE - sum(held[node].values()) for node, gpus in room.items()):
        return None
    for project, gpus in taken.items():
        total = sum(holding.gpus for holding in problem.holdings if holding.project == project)
        if gpus > max(0, total - problem.projects[project].guarantee):
            return None
    return cost + sum(problem.projects[project].fee for project in approached)


def everything(problem: Problem) -> Iterator[int]:
    """The cost of every plan that obeys the rules."""
    names, held = [node.id for node in problem.nodes], held_on(problem)
    for choice in product(["", *(need.id for need in problem.needs)], repeat=len(names)):
        needs: dict[str, list[str]] = defaultdict(list)
        for node, need in zip(names, choice, strict=True):
            if need:
                needs[need].append(node)
        pieces = [(project, node) for each in needs.values() for node in each for project in held[node]]
        targets = [None, *(node for node, need in zip(names, choice, strict=True) if not need)]
        ways = product(targets, repeat=len(pieces)) if problem.relocation else [tuple([None] * len(pieces))]
        for way in ways:
            moves = {piece: target for piece, target in zip(pieces, way, strict=True) if target is not None}
            cost = cost_of(problem, dict(needs), moves)
            if cost is not None:
                yield cost


def cost_of_answer(problem: Problem, answer: Answer) -> int | None:
    return cost_of(problem, answer.needs, {(move.project, move.source): move.target for move in answer.relocations})


@settings(max_examples=150, deadline=None)
@given(problems())
def test_it_is_as_cheap_as_the_cheapest_of_all_plans_and_obeys_the_rules(problem):
    cheapest = min(everything(problem), default=None)

    answer = solve(problem)

    if cheapest is None:
        assert isinstance(answer, Infeasible)
    else:
        assert (answer.objective, answer.bound, answer.is_proven) == (cheapest, cheapest, True)
        assert cost_of_answer(problem, answer) == cheapest


@settings(max_examples=60, deadline=None)
@given(problems())
def test_the_shortfall_and_the_consents_are_right(problem):
    single = replace(problem, needs=(replace(problem.needs[0], must=True),), pairs=(), exclusive=())
    answer = solve(single)
    assume(isinstance(answer, Infeasible))

    def fits(changed: Problem) -> bool:
        return next(everything(changed), None) is not None

    need = single.needs[0]
    counts = [n for n in range(1, need.nodes) if fits(replace(single, needs=(replace(need, nodes=n),)))]
    helps = [
        name
        for name, project in single.projects.items()
        if fits(replace(single, projects={**single.projects, name: replace(project, protected=False, guarantee=0)}))
    ]
    assert (answer.short_nodes, answer.unlocks) == (need.nodes - max(counts, default=0), helps)


@settings(max_examples=60, deadline=None)
@given(problems(), st.data())
def test_more_supply_is_never_worse(problem, data):
    before = solve(problem)
    assume(isinstance(before, Answer) and problem.holdings)
    gone = data.draw(st.integers(0, len(problem.holdings) - 1))
    given_up = problem.holdings[gone]
    # What a project gives up by itself is not held against its guarantee.
    owner = problem.projects[given_up.project]
    less = replace(owner, guarantee=max(0, owner.guarantee - given_up.gpus))
    freed = replace(
        problem,
        holdings=tuple(each for number, each in enumerate(problem.holdings) if number != gone),
        projects={**problem.projects, owner.id: less},
    )

    after = solve(freed)

    assert isinstance(after, Answer)
    assert after.objective <= before.objective
