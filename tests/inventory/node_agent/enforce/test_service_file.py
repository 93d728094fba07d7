"""The rights that the service file gives the agent: enough for its work, and no more than that."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from inventory import node_agent
from inventory.node_agent.enforce.doctor import CAPABILITIES
from inventory.node_agent.protocol import dump_order
from tests.inventory.node_agent.enforce import dying_agent
from tests.inventory.node_agent.enforce.machine import GPU_0, authority, node_seen, order

SERVICE = Path(node_agent.__file__).with_name("allot-agent.service").read_text()
GIVEN = [name for line in re.findall(r"^CapabilityBoundingSet=(.*)$", SERVICE, re.M) for name in line.split()]


def agent_with(machine, capabilities: list[str], ada: int, bob: int) -> bool:
    """Whether an agent with these rights takes the GPU from Ada and gives it to Bob."""
    machine.boot()
    # As a driver whose parameters are wrong would have it; nobody but its owner or CAP_FOWNER closes such a node.
    os.chown(machine.node(), 1, 1)
    (machine.layout.state / "orders").mkdir(parents=True, exist_ok=True)
    for path in (machine.layout.state / "orders").iterdir():
        path.unlink()
    machine.enforcer().ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada)
    body = dump_order(order("borealis", 2, bob, eviction=authority(machine.clock))).decode()
    bounding = ",".join(["-all", *(f"+{name.removeprefix('CAP_').lower()}" for name in capabilities)])
    program = [sys.executable, "-m", dying_agent.__name__]
    agent = subprocess.run(
        ["setpriv", f"--bounding-set={bounding}", *program, str(machine.root), "none", "1", body],
        capture_output=True,
        timeout=60,
    )
    did = agent.returncode == 0 and opener.has_ended and machine.may_open(bob)
    opener.end()
    return did


@pytest.mark.faults
def test_the_rights_of_the_service_file_are_enough(machine, ada, bob):
    assert sorted(GIVEN) == sorted(CAPABILITIES)
    assert agent_with(machine, GIVEN, ada, bob)


@pytest.mark.faults
@pytest.mark.parametrize("missing", GIVEN)
def test_each_right_of_the_service_file_is_needed(machine, ada, bob, monkeypatch, missing):
    monkeypatch.setenv("ALLOT_TEST_LIMIT_S", "3")

    assert not agent_with(machine, [name for name in GIVEN if name != missing], ada, bob)
