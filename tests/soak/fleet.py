"""A fleet in which every card has a holder of its own, so that a reading of another card's is seen in each row."""

import json
import random
from pathlib import Path

from inventory.models import GpuModel, Node
from inventory.simulator import gpu_uuid
from inventory.simulator.life import fraction
from inventory.simulator.node import HOST

GPUS = 8
# Not where every other simulated fleet begins: the port of a killed agent must be free when it comes back.
FIRST_PORTS = 20_000, 28_000
MODEL, MEMORY_MIB = "NVIDIA H100", 81_559


def declare(agents: int, simulator: Path) -> None:
    """The simulator finds the nodes in the database, and whom each card belongs to in its state folder."""
    simulator.mkdir(parents=True, exist_ok=True)
    names = [f"n{number}" for number in range(agents)]
    held = {name: {slot: holder_of(name, slot) for slot in range(GPUS)} for name in names}
    # First: a node that answered before its cards are held would have said that they are nobody's.
    (simulator / "holders.json").write_text(json.dumps(held))
    model = GpuModel.objects.create(name=MODEL, memory_mib=MEMORY_MIB)
    Node.objects.bulk_create(
        Node(name=name, model=model, expected_gpus=GPUS, address=f"https://{HOST}:{port}")
        for port, name in enumerate(names, random.randrange(*FIRST_PORTS))
    )


def holder_of(node: str, slot: int) -> str:
    """The one holder of that card."""
    return f"card-{node}-{slot}"


def truth(agents: int) -> list[dict[str, object]]:
    """Of each card: uuid, node, slot, its holder, and the memory that this holder uses on it all the time."""
    return [_card(f"n{number}", slot) for number in range(agents) for slot in range(GPUS)]


def _card(node: str, slot: int) -> dict[str, object]:
    uuid, holder = gpu_uuid(node, slot), holder_of(node, slot)
    # As `inventory.simulator.life` has it: what a holder keeps on a card does not change with the hours.
    mem_used_mib = int(MEMORY_MIB * (0.2 + 0.75 * fraction(uuid, holder, 0)))
    return {"uuid": uuid, "node": node, "slot": slot, "holder": holder, "mem_used_mib": mem_used_mib}
