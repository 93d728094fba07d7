"""What cannot be ended keeps its GPU from everybody, and an operator is told."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from inventory.node_agent.enforce import Policy
from tests.inventory.node_agent.enforce.machine import GPU_0, GPU_1, authority, card, listed, node_seen, order

FREEZER = Path("/sys/fs/cgroup/freezer")


def codes(seen) -> list[str]:
    return [fault.code for fault in seen.faults]


@pytest.fixture
def frozen():
    """Puts a process where it sleeps uninterruptibly, as one that hangs in the driver does."""
    if not (FREEZER / "cgroup.procs").exists():
        pytest.skip("no cgroup v1 freezer, which makes a process that SIGKILL does not end")
    group = FREEZER / f"allot-{os.getpid()}"
    group.mkdir()

    def freeze(pid: int) -> None:
        (group / "cgroup.procs").write_text(str(pid))
        (group / "freezer.state").write_text("FROZEN")

    yield freeze
    (group / "freezer.state").write_text("THAWED")
    for pid in (group / "cgroup.procs").read_text().split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    while (group / "cgroup.procs").read_text():
        os.sched_yield()
    group.rmdir()


def test_a_process_that_hangs_in_the_kernel_makes_the_gpu_an_operators(machine, ada, bob, frozen):
    enforcer = machine.enforcer(policy=Policy(grace_s=0.0))
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada)
    frozen(opener.pid)

    enforcer.ensure(GPU_0, order("borealis", 2, bob, eviction=authority(machine.clock)), node_seen())
    enforcer.reconcile(node_seen())
    young = enforcer.look(node_seen())[0]
    machine.clock.now_s += 15
    enforcer.reconcile(node_seen())
    seen = enforcer.look(node_seen())[0]

    assert codes(young) == []
    assert codes(seen) == ["unkillable_process"]
    assert f"pid {opener.pid}" in seen.faults[0].detail
    assert (seen.draining, seen.holder, seen.generation) == (True, "apollo", 1)
    assert [machine.may_open(uid) for uid in (ada, bob)] == [False, False]


def test_a_zombie_that_nvml_still_lists_makes_the_gpu_an_operators(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    works = node_seen(card(processes=(listed(zombie.pid, ada, zombie=True),)), card(GPU_1))

    enforcer.ensure(GPU_0, order("borealis", 2, bob), works)
    young = enforcer.look(works)[0]
    machine.clock.now_s += 15
    enforcer.reconcile(works)
    seen = enforcer.look(works)[0]
    zombie.wait()

    assert codes(young) == []
    assert codes(seen) == ["unkillable_process"]
    assert (seen.draining, seen.holder) == (True, "apollo")


def test_memory_of_a_process_that_is_gone_makes_the_gpu_an_operators(machine, ada, bob):
    """microsoft/pai#5528: the process is gone, the driver still lists it and its memory."""
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    works = node_seen(card(processes=(listed(2**22 - 1, None),)), card(GPU_1))

    enforcer.ensure(GPU_0, order("borealis", 2, bob), works)
    machine.clock.now_s += 15
    enforcer.reconcile(works)
    seen = enforcer.look(works)[0]

    assert codes(seen) == ["unkillable_process"]
    assert (seen.draining, seen.holder) == (True, "apollo")


def test_roots_work_on_a_gpu_is_an_operators_to_end(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    works = node_seen(card(processes=(listed(os.getpid(), 0),)), card(GPU_1))

    answer = enforcer.ensure(GPU_0, order("borealis", 2, bob, eviction=authority(machine.clock)), works)

    assert answer.state == "draining"
    assert codes(enforcer.look(works)[0]) == ["root_process"]


def test_a_fault_is_as_old_as_it_was_first_seen(machine, ada):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    began_s = machine.clock()
    works = node_seen(card(processes=None), card(GPU_1))

    enforcer.ensure(GPU_0, order("", 2), works)
    machine.clock.now_s += 500
    enforcer.reconcile(works)
    later = enforcer.look(works)[0].faults
    enforcer.reconcile(node_seen())

    assert [fault.since_s for fault in later] == [began_s]
    assert codes(enforcer.look(node_seen())[0]) == []
