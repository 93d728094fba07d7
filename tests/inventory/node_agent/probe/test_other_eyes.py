"""nvitop and gpustat look at the same node at the same time, and see what the probe sees."""

import json
import os
import subprocess
import sys

from inventory.node_agent.protocol import GpuSeen
from tests.inventory.nvml_stub.library import StubNode

NVITOP = """
import json
from nvitop import Device
print(json.dumps([
    [card.uuid(), card.name(), card.gpu_utilization(), card.memory_total() >> 20, card.memory_used() >> 20,
     card.temperature(), card.power_usage() / 1000, sorted(card.processes())]
    for card in Device.all()
]))
"""


def test_nvitop_and_gpustat_agree_with_the_probe(node):
    node.example("h100x8")
    # gpustat leaves out processes that are not there: this one is.
    node.add(f"[gpu 0]\nproc = none\nproc = {os.getpid()} mem=71680\n[gpu 1-2]\nproc = none\nmemory.used = 4000")
    with node.probe() as probe:
        seen = _rows(probe.look().gpus)

        nvitop, gpustat = _nvitop(node), _gpustat(node)
        again = _rows(probe.look().gpus)

    assert nvitop == seen == again
    # gpustat shows whole watts.
    assert gpustat == [[*row[:6], int(row[6]), row[7]] for row in seen]
    assert seen[0][7] == [os.getpid()]


def test_they_agree_where_the_card_has_no_memory_of_its_own(node):
    node.example("gb10")

    [row] = _rows(node.look().gpus)

    # nvitop shows the machine's memory in its place; the wire says that there is none.
    assert row[3:5] == [None, None]
    [other] = _nvitop(node)
    assert [*other[:3], *other[5:]] == [*row[:3], *row[5:]]
    assert _gpustat(node) == [[*row[:6], int(row[6]), []]]


def _rows(gpus: tuple[GpuSeen, ...]) -> list[list]:
    return [
        [
            gpu.uuid,
            gpu.model,
            gpu.util_pct.value,
            gpu.memory_total_mib,
            gpu.mem_used_mib.value,
            gpu.temperature_c.value,
            gpu.power_w.value,
            [process.pid for process in gpu.processes],
        ]
        for gpu in gpus
    ]


def _nvitop(node: StubNode) -> list:
    return json.loads(_said(node, sys.executable, "-c", NVITOP))


def _gpustat(node: StubNode) -> list:
    cards = json.loads(_said(node, sys.executable, "-m", "gpustat", "--json"))["gpus"]
    names = ("uuid", "name", "utilization.gpu", "memory.total", "memory.used", "temperature.gpu", "power.draw")
    return [[*(card[name] for name in names), sorted(row["pid"] for row in card["processes"])] for card in cards]


def _said(node: StubNode, *command: str) -> str:
    done = subprocess.run(command, env=os.environ | node.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
