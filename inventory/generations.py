"""The highest generation that any node has accepted, asked of the nodes themselves."""

from collections.abc import Sequence
from typing import NamedTuple

from inventory.drivers import loop
from inventory.drivers.base import Observed
from inventory.models import Node
from inventory.queries import addresses_of


class Heard(NamedTuple):
    """`highest`: of all GPUs of the nodes that answered, 0 if none; `node`: which one says so; `silent`: the others."""

    highest: int
    node: str
    silent: list[str]


def ask_generations(nodes: Sequence[Node]) -> Heard:
    """What the nodes have accepted, whether their devices reflect it already or not. Takes seconds."""
    highest, of, silent = 0, "", []
    for name, answer in loop.observe_many(addresses_of(nodes)):
        if not isinstance(answer, Observed):
            silent.append(name)
            continue
        known = max((max(gpu.generation, gpu.ordered_generation) for gpu in answer.observation.gpus), default=0)
        if known > highest:
            highest, of = known, name
    return Heard(highest, of, silent)
