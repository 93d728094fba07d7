"""A reshuffle as plain values: nodes, who stays on them, what is needed and what it costs to make room."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

Level = Literal["island", "site", "any"]
LEVELS: dict[str, Level] = {"island": "island", "site": "site", "any": "any"}


class BadInstance(ValueError):
    """The instance does not say what a problem needs; the message names the place."""


@dataclass(frozen=True, slots=True)
class Node:
    """A machine; all nodes of an island have one model and one number of GPUs."""

    id: str
    model: str
    gpus: int
    island: str
    site: str


@dataclass(frozen=True, slots=True)
class Project:
    """Whose holdings may be touched and at what price: `weight` a GPU taken, `fee` once for being approached at all.

    `guarantee`: GPUs that stay its own. `movable`: its parts of nodes may be relocated.
    """

    id: str
    protected: bool
    movable: bool
    guarantee: int
    weight: int
    fee: int


@dataclass(frozen=True, slots=True)
class Holding:
    """What a project still has of a node when the needs begin."""

    node: str
    project: str
    gpus: int


@dataclass(frozen=True, slots=True)
class Need:
    """Whole nodes of one of these models, at `level` all in one island, one site, or anywhere."""

    id: str
    nodes: int
    models: tuple[str, ...]
    level: Level
    must: bool
    value: int
    division: str


@dataclass(frozen=True, slots=True)
class Problem:
    """All in the order of their ids. `budget`: division -> GPUs that its needs get together; `pairs`: (a, b, bonus).

    `requires`: (a, b), a only with b. `exclusive`: groups of which at most one is met.
    """

    nodes: tuple[Node, ...]
    projects: Mapping[str, Project]
    holdings: tuple[Holding, ...]
    needs: tuple[Need, ...]
    relocation: bool = False
    move_weight: int = 0
    budget: Mapping[str, int] = field(default_factory=dict)
    pairs: tuple[tuple[str, str, int], ...] = ()
    requires: tuple[tuple[str, str], ...] = ()
    exclusive: tuple[tuple[str, ...], ...] = ()


def read_problem(raw: Mapping[str, Any]) -> Problem:
    """The problem of a reshuffle-core/1 instance; what returns by the day of the needs is nobody's.

    Raises BadInstance.
    """
    try:
        by = date.fromisoformat(raw["by"])
        projects = {
            each["id"]: Project(
                each["id"],
                bool(each["protected"]),
                bool(each["movable"]),
                int(each["guarantee"]),
                int(each["weight"]),
                int(each["fee"]),
            )
            for each in sorted(raw["projects"], key=lambda each: each["id"])
        }
        nodes = sorted((_node(each) for each in raw["nodes"]), key=lambda node: node.id)
        staying = [each for each in raw["grants"] if date.fromisoformat(each["until"]) > by]
        problem = Problem(
            nodes=tuple(nodes),
            projects=projects,
            holdings=tuple(sorted(_holdings(staying), key=lambda each: (each.node, each.project))),
            needs=tuple(sorted((_need(each) for each in raw["needs"]), key=lambda need: need.id)),
            relocation=bool(raw.get("relocation", False)),
            move_weight=int(raw.get("move_weight", 0)),
            budget=dict(sorted(raw.get("budget", {}).items())),
            pairs=tuple(sorted((a, b, int(bonus)) for a, b, bonus in raw.get("pairs", []))),
            requires=tuple(sorted((a, b) for a, b in raw.get("requires", []))),
            exclusive=tuple(sorted(tuple(sorted(group)) for group in raw.get("exclusive", []))),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInstance(f"not a reshuffle-core/1 instance: {type(error).__name__} {error}") from error
    _check(problem)
    return problem


def _node(raw: Mapping[str, Any]) -> Node:
    return Node(raw["id"], raw["model"], int(raw["gpus"]), raw["island"], raw["site"])


def _need(raw: Mapping[str, Any]) -> Need:
    return Need(
        raw["id"],
        int(raw["nodes"]),
        tuple(sorted(raw["models"])),
        LEVELS[raw["level"]],
        bool(raw.get("must", False)),
        int(raw.get("value", 0)),
        raw["division"],
    )


def _holdings(staying: list[Mapping[str, Any]]) -> list[Holding]:
    sums: dict[tuple[str, str], int] = {}
    for each in staying:
        key = each["node"], each["project"]
        sums[key] = sums.get(key, 0) + int(each["gpus"])
    return [Holding(node, project, gpus) for (node, project), gpus in sums.items() if gpus]


def _check(problem: Problem) -> None:
    sizes = {node.id: node.gpus for node in problem.nodes}
    held: dict[str, int] = {}
    for holding in problem.holdings:
        if holding.node not in sizes or holding.project not in problem.projects:
            raise BadInstance(f"a grant names {holding.node} and {holding.project}, of which one is unknown")
        held[holding.node] = held.get(holding.node, 0) + holding.gpus
    if over := next((node for node, gpus in held.items() if gpus > sizes[node]), None):
        raise BadInstance(f"{over} has {sizes[over]} GPUs and {held[over]} are held")
    kinds: dict[str, set[tuple[str, int, str]]] = {}
    for node in problem.nodes:
        kinds.setdefault(node.island, set()).add((node.model, node.gpus, node.site))
    if mixed := next((island for island, kind in kinds.items() if len(kind) > 1), None):
        raise BadInstance(f"island {mixed} has nodes of several kinds")
    ids = {need.id for need in problem.needs}
    groups = [*problem.requires, *problem.exclusive, *((first, second) for first, second, _bonus in problem.pairs)]
    if unknown := sorted({need for group in groups for need in group} - ids):
        raise BadInstance(f"there is no need {unknown[0]}")
