"""What nodes answer, made fit to be stored: an answer that does not fit is a fault of its node."""

from collections.abc import Sequence
from typing import NamedTuple

from inventory.drivers import loop
from inventory.drivers.base import Fault, GpuSeen, Observation, Observed
from inventory.errors import BadAnswer, InventoryError
from inventory.models import Node
from inventory.queries import addresses_of

# The columns of Gpu, Reading and Node.
LONGEST = {"uuid": 80, "pci_bus_id": 32, "holder": 80, "serial": 60}
LONGEST_OF_NODE = {"boot_id": 64, "agent": 40, "driver": 40}
LONGEST_CODE = 40
LARGEST_SMALLINT = 2**15 - 1


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
    for field, longest in LONGEST_OF_NODE.items():
        if len(getattr(observation, field)) > longest:
            return f"{field}: longer than {longest} characters"
    if (observation.cards_on_bus or 0) > LARGEST_SMALLINT:
        return f"cards_on_bus: more than {LARGEST_SMALLINT}"
    slots = set()
    for index, gpu in enumerate(observation.gpus):
        if why := _misfit_of_gpu(gpu):
            return f"gpus[{index}].{why}"
        if gpu.kind == "gpu":
            if gpu.pci_bus_id in slots:
                return f"gpus[{index}].pci_bus_id: two cards in one slot"
            slots.add(gpu.pci_bus_id)
    return _misfit_of_faults(observation.faults)


def _misfit_of_gpu(gpu: GpuSeen) -> str:
    for field, longest in LONGEST.items():
        if len(getattr(gpu, field) or "") > longest:
            return f"{field}: longer than {longest} characters"
    if (gpu.minor or 0) > LARGEST_SMALLINT:
        return f"minor: more than {LARGEST_SMALLINT}"
    return _misfit_of_faults(gpu.faults)


def _misfit_of_faults(faults: Sequence[Fault]) -> str:
    longer = any(len(fault.code) > LONGEST_CODE for fault in faults)
    return f"faults: a code longer than {LONGEST_CODE} characters" if longer else ""
