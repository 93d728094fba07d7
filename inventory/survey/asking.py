"""What nodes answer, made fit to be stored: an answer that does not fit is a fault of its node."""

from collections.abc import Sequence
from typing import NamedTuple

from inventory.drivers import loop
from inventory.drivers.base import Observation, Observed
from inventory.errors import BadAnswer, InventoryError
from inventory.models import Node
from inventory.queries import addresses_of

# The columns of Gpu, Reading and Node.
LONGEST = {"uuid": 80, "pci_bus_id": 32, "holder": 80}
LONGEST_BOOT_ID = 64


class Answer(NamedTuple):
    """One node and what it said, or why that is not known."""

    node_id: int
    said: Observed | InventoryError


def ask(nodes: Sequence[Node]) -> list[Answer]:
    """What each node says now, in the order of `nodes`. Takes seconds: not inside a transaction."""
    said = loop.observe_many(addresses_of(nodes))
    return [Answer(node.pk, _fitting(answer)) for node, (_name, answer) in zip(nodes, said, strict=True)]


def _fitting(answer: Observed | InventoryError) -> Observed | InventoryError:
    if isinstance(answer, InventoryError):
        return answer
    why = _misfit(answer.observation)
    return BadAnswer(answer.observation.node, why) if why else answer


def _misfit(observation: Observation) -> str:
    if len(observation.boot_id) > LONGEST_BOOT_ID:
        return f"boot_id: longer than {LONGEST_BOOT_ID} characters"
    slots = set()
    for index, gpu in enumerate(observation.gpus):
        for field, longest in LONGEST.items():
            if len(getattr(gpu, field) or "") > longest:
                return f"gpus[{index}].{field}: longer than {longest} characters"
        if gpu.kind == "gpu":
            if gpu.pci_bus_id in slots:
                return f"gpus[{index}].pci_bus_id: two cards in one slot"
            slots.add(gpu.pci_bus_id)
    return ""
