"""`python -m inventory.node_agent.probe [--json]`: what the probe sees on this node, once, for an operator."""

import argparse
import asyncio
import json
import sys
from dataclasses import asdict

from inventory.node_agent.probe import Probe
from inventory.node_agent.protocol import Fault, GpuSeen, Value
from inventory.node_agent.seen import NodeSeen

HEAD = ("gpu", "bus", "model", "util", "peak", "mem MiB", "W", "C", "processes")


async def look() -> NodeSeen:
    """One round of a probe of its own."""
    probe = Probe()
    await probe.start()
    try:
        return await probe.look()
    finally:
        await probe.close()


def table(seen: NodeSeen) -> str:
    """Columns for a terminal; what is unknown shows its reason."""
    rows = [HEAD, *(_row(gpu) for gpu in seen.gpus)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    on_bus = "unknown" if seen.cards_on_bus is None else seen.cards_on_bus
    head = f"driver {seen.driver or 'unknown'}, cards on the bus: {on_bus}"
    faults = [_fault("node", fault) for fault in seen.faults]
    faults += [_fault(gpu.uuid, fault) for gpu in seen.gpus for fault in gpu.faults]
    return "\n".join([head, *lines, *faults])


def _row(gpu: GpuSeen) -> tuple[str, ...]:
    lists = "unknown" if gpu.processes is None else _users(gpu)
    return (
        gpu.uuid,
        gpu.pci_bus_id,
        gpu.model,
        _cell(gpu.util_pct),
        _cell(gpu.util_peak_pct),
        f"{_cell(gpu.mem_used_mib)}/{gpu.memory_total_mib or '?'}",
        _cell(gpu.power_w),
        _cell(gpu.temperature_c),
        lists,
    )


def _users(gpu: GpuSeen) -> str:
    said = (f"{process.pid} {process.user} {process.name} {process.job}".strip() for process in gpu.processes or ())
    return ", ".join(said) or "none"


def _cell(value: Value) -> str:
    return f"({value.reason})" if value.value is None else f"{value.value:g}"


def _fault(subject: str, fault: Fault) -> str:
    return f"! {subject}: {fault.code}: {fault.detail}"


def main() -> None:
    """Prints and ends with 1 where the node has a fault."""
    parser = argparse.ArgumentParser(prog="python -m inventory.node_agent.probe", description=__doc__)
    parser.add_argument("--json", action="store_true", help="everything, for a program")
    seen = asyncio.run(look())
    text = json.dumps(asdict(seen), indent=1) if parser.parse_args().json else table(seen)
    sys.stdout.write(text + "\n")
    sys.exit(1 if seen.faults else 0)


if __name__ == "__main__":
    main()
