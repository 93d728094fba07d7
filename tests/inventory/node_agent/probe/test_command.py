"""`python -m inventory.node_agent.probe`: what an operator sees."""

import json
import os
import subprocess
import sys

from tests.inventory.nvml_stub.library import StubNode


def test_an_operator_sees_a_table_with_what_is_wrong(node):
    node.write("[gpu 0-1]\n[gpu 0]\nutil.gpu = 97\nmemory.used = 71680\nremap.pending = yes\n[gpu 1]\nutil.gpu = N/A\n")

    done = _run(node)

    head, titles, first, second, *faults = done.stdout.splitlines()
    assert head.startswith("driver 570.133.20, cards on the bus: ")
    assert titles.split()[:4] == ["gpu", "bus", "model", "util"]
    assert " ".join(first.split()[1:]) == "00000000:1B:00.0 NVIDIA H100 80GB HBM3 97 97 71680/81559 70 34 none"
    assert "(not_supported)" in second.split()
    assert [fault.partition(": ")[2] for fault in faults if fault.startswith("! GPU-")] == [
        "remap_pending: a memory row is replaced at the next reset of the GPU"
    ]


def test_a_program_gets_everything_and_a_node_with_a_fault_ends_with_one(node):
    node.example("mismatch")

    done = _run(node, "--json")

    seen = json.loads(done.stdout)
    assert (done.returncode, seen["gpus"], "library_mismatch" in [fault["code"] for fault in seen["faults"]]) == (
        1,
        [],
        True,
    )


def _run(node: StubNode, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "inventory.node_agent.probe", *arguments]
    return subprocess.run(command, env=os.environ | node.environment, capture_output=True, text=True, check=False)
