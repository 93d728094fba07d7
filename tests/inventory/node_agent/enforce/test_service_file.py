"""The rights that the service file gives the agent: enough for its work, and no more than that."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from inventory import node_agent
from inventory.node_agent.enforce.doctor import CAPABILITIES
from inventory.node_agent.protocol import Order, dump_order
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
    ended = agent(machine, capabilities, order("borealis", 2, bob, eviction=authority(machine.clock)))
    did = ended == 0 and opener.has_ended and machine.may_open(bob)
    opener.end()
    return did


def agent(machine, capabilities: list[str], order_: Order) -> int:
    """How an agent with these rights ended that works until the order is true."""
    bounding = ",".join(["-all", *(f"+{name.removeprefix('CAP_').lower()}" for name in capabilities)])
    program = [sys.executable, "-m", dying_agent.__name__, str(machine.root), "none", "1", dump_order(order_).decode()]
    return subprocess.run(
        ["setpriv", f"--bounding-set={bounding}", *program], capture_output=True, timeout=60, check=False
    ).returncode


@pytest.mark.faults
def test_the_rights_of_the_service_file_are_enough(machine, ada, bob):
    assert sorted(GIVEN) == sorted(CAPABILITIES)
    assert agent_with(machine, GIVEN, ada, bob)


@pytest.mark.faults
def test_a_process_that_cannot_be_looked_into_is_not_nobody(machine, ada, bob, monkeypatch):
    monkeypatch.setenv("ALLOT_TEST_LIMIT_S", "3")
    machine.enforcer().ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada)

    blind = agent(machine, [name for name in GIVEN if name != "CAP_SYS_PTRACE"], order("borealis", 2, bob))

    assert (blind, opener.has_ended, machine.may_open(bob)) == (1, False, False)


@pytest.mark.faults
@pytest.mark.parametrize("missing", GIVEN)
def test_each_right_of_the_service_file_is_needed(machine, ada, bob, monkeypatch, missing):
    monkeypatch.setenv("ALLOT_TEST_LIMIT_S", "3")

    assert not agent_with(machine, [name for name in GIVEN if name != missing], ada, bob)
