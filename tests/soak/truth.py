"""What is true of the simulated cards: each has a holder of its own, so that every reading of another card shows."""

import json
from pathlib import Path

from inventory.simulator import gpu_uuid
from inventory.simulator.life import fraction

GPUS = 8
MODEL, MEMORY_MIB = "NVIDIA H100", 81_559


def names(agents: int) -> list[str]:
    """The agents."""
    return [f"n{number}" for number in range(agents)]


def give_out(agents: int, simulator: Path) -> None:
    """The simulator that starts with this state folder will give each card to its holder before anybody asks."""
    simulator.mkdir(parents=True, exist_ok=True)
    held = {name: {slot: _holder(name, slot) for slot in range(GPUS)} for name in names(agents)}
    (simulator / "holders.json").write_text(json.dumps(held))


def cards(agents: int) -> list[dict[str, object]]:
    """Of each card: uuid, node, slot, its holder, and the memory that this holder uses on it all the time."""
    return [_card(name, slot) for name in names(agents) for slot in range(GPUS)]


def _card(node: str, slot: int) -> dict[str, object]:
    uuid, holder = gpu_uuid(node, slot), _holder(node, slot)
    # As `inventory.simulator.life` has it: what a holder keeps on a card does not change with the hours.
    mem_used_mib = int(MEMORY_MIB * (0.2 + 0.75 * fraction(uuid, holder, 0)))
    return {"uuid": uuid, "node": node, "slot": slot, "holder": holder, "mem_used_mib": mem_used_mib}


def _holder(node: str, slot: int) -> str:
    return f"card-{node}-{slot}"
