"""Nodes that are alike: same place, model, size and the same holdings; a plan only needs to say how many of each."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from allocations.planner.exact.problem import Holding, Node, Problem

Pool = tuple[str, str]  # (model, site): within it, and nowhere else, parts of nodes are relocated


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Equal nodes, in the order of their ids. `held`: (project, GPUs) that stay on each."""

    island: str
    pool: Pool
    size: int
    held: tuple[tuple[str, int], ...]
    nodes: tuple[str, ...]

    @property
    def free(self) -> int:
        """GPUs of each that nobody has."""
        return self.size - sum(gpus for _project, gpus in self.held)


def classes_of(problem: Problem) -> list[NodeClass]:
    """All nodes by class, in the order of their first node."""
    held: dict[str, list[Holding]] = defaultdict(list)
    for holding in problem.holdings:
        held[holding.node].append(holding)
    groups: dict[tuple[str, Pool, int, tuple[tuple[str, int], ...]], list[str]] = defaultdict(list)
    for node in problem.nodes:
        groups[_kind(node, held[node.id])].append(node.id)
    return [NodeClass(*kind, tuple(nodes)) for kind, nodes in groups.items()]


def _kind(node: Node, held: Sequence[Holding]) -> tuple[str, Pool, int, tuple[tuple[str, int], ...]]:
    parts = tuple((each.project, each.gpus) for each in held)
    return node.island, (node.model, node.site), node.gpus, parts


def is_usable(each: NodeClass, problem: Problem) -> bool:
    """Whether nodes of the class may be given to a need at all: nobody protected is on them, and all of it can go."""
    return all(not problem.projects[project].protected for project, _gpus in each.held)


def may_move(each: NodeClass, project: str, gpus: int, problem: Problem) -> bool:
    """Whether that holding may be relocated: a part of a node, of a project that lets it."""
    owner = problem.projects[project]
    return problem.relocation and owner.movable and not owner.protected and gpus < each.size


def staying(problem: Problem) -> Mapping[str, int]:
    """Project -> GPUs that stay its own when the needs begin."""
    totals: dict[str, int] = defaultdict(int)
    for holding in problem.holdings:
        totals[holding.project] += holding.gpus
    return totals


def patterns(free: int, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every fullest way to fill `free` GPUs with pieces of these sizes: a tuple of sizes, the largest first."""

    def fill(left: int, among: Sequence[int]) -> Iterator[tuple[int, ...]]:
        fitting = [size for size in among if size <= left]
        if not fitting:
            yield ()
        for place, size in enumerate(fitting):
            for rest in fill(left - size, fitting[place:]):
                yield (size, *rest)

    ordered = sorted(set(sizes), reverse=True)
    smallest = ordered[-1] if ordered else free + 1
    for pieces in fill(free, ordered):
        if free - sum(pieces) < smallest:
            yield pieces
