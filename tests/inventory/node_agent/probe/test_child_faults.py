"""The child hangs, is stopped or is killed, at every moment: the others' values stay fresh, and the parent goes on."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import pytest

from inventory.node_agent.probe import ProbeSettings
from inventory.node_agent.probe.pipe import Child
from inventory.node_agent.probe.suspects import Suspects
from tests.inventory.nvml_stub.library import codes

# Short, and still far more than a busy machine needs for one card.
QUICK = {"card_deadline_s": 1.5, "init_deadline_s": 4.0}
# The calls of a first round that one card has to answer, in their order.
OF_A_CARD = [
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetSupportedEventTypes",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetSamples",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetComputeRunningProcesses",
]
OF_THE_NODE = [
    ("nvmlInit", "init_hung"),
    ("nvmlSystemGetDriverVersion", "init_hung"),
    ("nvmlDeviceGetCount", "probe_died"),
    ("nvmlEventSetWait", "events_hung"),
]


@pytest.mark.parametrize("call", OF_A_CARD)
def test_a_card_that_hangs_at_any_call_costs_no_other_and_comes_back(node, call):
    """52, gpu-monitoring-tools#46, microsoft/pai#889: the others stay fresh."""
    node.write("[gpu 0-2]\nutil.gpu = 30\n")
    with node.probe(**QUICK, hung_again_s=0.0) as probe:
        probe.look()
        node.add(f"[gpu 0-2]\nutil.gpu = 31\n[gpu 1]\nhang.{call} = forever")
        # A handle and what is static are asked by a new child only.
        probe.replace_child()

        hung = probe.look()
        node.add(f"[gpu 0-2]\nutil.gpu = 32\n[gpu 1]\nhang.{call} = 0")
        well = probe.look()

    assert [codes(gpu.faults) for gpu in hung.gpus] == [[], ["hung"], []]
    assert (hung.gpus[0].util_pct.value, hung.gpus[2].util_pct.value, hung.faults) == (31, 31, ())
    assert [(gpu.util_pct.value, gpu.faults) for gpu in well.gpus] == [(32, ())] * 3


@pytest.mark.parametrize(("call", "code"), OF_THE_NODE)
def test_a_driver_that_hangs_at_no_card_is_a_fault_of_the_node_and_comes_back(node, call, code):
    """52: what was known grows old, nothing is forgotten."""
    node.write("[gpu 0-2]\nutil.gpu = 30\n")
    with node.probe(**QUICK, start_again_s=0.0, hung_again_s=0.0) as probe:
        probe.look()
        node.add(f"[node]\nhang.{call} = forever")
        probe.replace_child()

        hung = probe.look()
        node.add(f"[node]\nhang.{call} = 0\n[gpu 0-2]\nutil.gpu = 32")
        well = probe.look()

    assert (codes(hung.faults), [codes(gpu.faults) for gpu in hung.gpus]) == ([code], [[]] * 3)
    assert ([gpu.util_pct.value for gpu in well.gpus], well.faults) == ([32] * 3, ())


def test_slow_cards_are_not_hung_ones(node):
    """The deadline is each card's own, however many there are."""
    node.write("[gpu 0-3]\nhang.nvmlDeviceGetUtilizationRates = 600\n")

    seen = node.look(**QUICK)

    assert ([gpu.faults for gpu in seen.gpus], seen.faults) == ([()] * 4, ())


def test_a_start_of_nvml_that_hangs_is_a_fault_of_the_node(node):
    node.write("hang.nvmlInit = forever\n[gpu 0]\n")

    seen = node.look(**QUICK)

    assert (seen.gpus, codes(seen.faults)) == ((), ["init_hung"])


def test_a_card_that_hung_before_it_was_known_is_told_by_its_index(node):
    node.write("[gpu 0-1]\n[gpu 1]\nhang.nvmlDeviceGetHandleByIndex = forever\n")

    seen = node.look(**QUICK)

    assert [gpu.minor for gpu in seen.gpus] == [0]
    assert [(fault.code, fault.detail) for fault in seen.faults] == [("card_hung", "card 1: no answer within 1.5 s")]


def test_a_card_that_hung_is_not_asked_in_its_pause(node):
    node.write("[gpu 0-2]\n[gpu 0]\nhang.nvmlDeviceGetUtilizationRates = forever\n")
    with node.probe(**QUICK, hung_again_s=3600.0) as probe:
        probe.look()

        asked = _asked_by(node, probe)

    assert asked == (["1", "2"], 0)


def test_a_card_that_hung_is_asked_last_when_its_pause_is_over(node):
    node.write("[gpu 0-2]\n[gpu 0]\nhang.nvmlDeviceGetUtilizationRates = forever\n")
    with node.probe(**QUICK, hung_again_s=0.0) as probe:
        probe.look()

        asked = _asked_by(node, probe)

    # A call that hangs writes no line of the trace; it costs the child.
    assert asked == (["1", "2"], 1)


def test_a_card_is_not_left_out_for_another_that_had_its_number(node):
    node.write("[gpu 0-3]\nutil.gpu = 1\n[gpu 2]\nhang.nvmlDeviceGetUtilizationRates = forever\n")
    with node.probe(**QUICK, hung_again_s=3600.0) as probe:
        probe.look()
        # The third is the second now, and the fourth the third.
        node.add("[gpu 0]\npresent = no\n[gpu 3]\nutil.gpu = 2")
        probe.replace_child()
        probe.look()

        seen = probe.look()

    assert {gpu.minor: (gpu.util_pct.value, codes(gpu.faults)) for gpu in seen.gpus} == {1: (1, []), 3: (2, [])}
    assert codes(seen.faults) == ["card_hung"]


def test_pauses_double_up_to_the_longest_and_end_with_an_answer():
    suspects = Suspects(ProbeSettings(hung_again_s=60.0, hung_again_most_s=200.0))
    until_s = []
    for _ in range(4):
        suspects.hung(3, 1000.0)
        until_s.append(suspects.all()[3].until_s - 1000.0)

    assert until_s == [60.0, 120.0, 200.0, 200.0]
    assert (suspects.waiting(1199.0), suspects.waiting(1200.0)) == ({3}, set())
    suspects.answered(3)
    suspects.hung(3, 1000.0)
    assert suspects.all()[3].until_s == 1060.0


def test_dying_once_at_a_card_is_no_proof_against_it():
    suspects = Suspects(ProbeSettings())

    suspects.died(3, "it ended with -9", 1000.0)
    assert (suspects.all(), suspects.waiting(1000.0), suspects.indices()) == ({}, set(), [3])

    suspects.died(3, "it ended with -9", 1000.0)
    assert [(index, found.code) for index, found in suspects.all().items()] == [(3, "probe_died")]


def test_a_parent_that_could_not_run_itself_blames_no_card(node):
    node.write("[gpu 0-1]\nutil.gpu = 5\nhang.nvmlDeviceGetUtilizationRates = 100\n")
    with node.probe(card_deadline_s=1.5) as probe:
        probe.look()
        pid = probe.probe.child_pid
        probe.runner.run(_with_a_busy_loop(probe.probe, busy_s=3.0))

        seen, same = probe.probe.seen(), probe.probe.child_pid == pid

    assert ([gpu.faults for gpu in seen.gpus], same) == ([(), ()], True)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.05, 0.1, 0.15, 0.25])
def test_a_child_that_somebody_kills_is_replaced_in_the_same_round(node, sent, after_s):
    node.write("[gpu 0-3]\nutil.gpu = 5\nhang.nvmlDeviceGetUtilizationRates = 50\n")
    with node.probe(**QUICK) as probe:
        probe.look()
        node.add("[gpu 0-3]\nutil.gpu = 6")
        probe.runner.run(_with_signal(probe.probe, sent, after_s))

        seen = probe.probe.seen()

    assert [(gpu.util_pct.value, gpu.faults) for gpu in seen.gpus] == [(6, ())] * 4


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.15])
def test_a_child_that_somebody_stops_costs_one_card_at_most(node, after_s):
    node.write("[gpu 0-3]\nutil.gpu = 5\nhang.nvmlDeviceGetUtilizationRates = 50\n")
    with node.probe(**QUICK) as probe:
        probe.look()
        node.add("[gpu 0-3]\nutil.gpu = 6")
        probe.runner.run(_with_signal(probe.probe, signal.SIGSTOP, after_s))

        seen = probe.probe.seen()

    # Stopped looks like hung: the card at hand bears it, and its values say how old they are.
    old = [codes(gpu.faults) for gpu in seen.gpus if gpu.util_pct.value == 5]
    assert len(seen.gpus) - len(old) == sum(gpu.faults == () for gpu in seen.gpus) >= 3
    assert old in ([], [["hung"]])


def test_a_card_that_ends_the_child_each_time_is_left_alone(node, tmp_path):
    """1, XuehaiPan/nvitop#139: a segmentation fault in the library."""
    node.write("[gpu 0-2]\nutil.gpu = 8\n")
    killer = tmp_path / "killer.py"
    killer.write_text(
        "import os, pynvml\n"
        "from inventory.node_agent.probe import child\n"
        "rates = pynvml.nvmlDeviceGetUtilizationRates\n"
        "def crash(handle):\n"
        "    return os.abort() if pynvml.nvmlDeviceGetMinorNumber(handle) == 1 else rates(handle)\n"
        "pynvml.nvmlDeviceGetUtilizationRates = crash\n"
        "child.main()\n"
    )

    seen = node.look(**QUICK, command=(sys.executable, str(killer)))

    assert [gpu.util_pct.value for gpu in seen.gpus] == [8, 8]
    [fault] = seen.faults
    assert (fault.code, fault.detail[:40]) == ("card_probe_died", "card 1: asking it ends the probe: it end")


def test_children_that_cannot_be_killed_are_told_and_never_more_than_two(node, monkeypatch):
    """A call in D state outlives SIGKILL: played by a kernel that does not deliver it."""
    node.write("[gpu 0-3]\nutil.gpu = 8\n")
    hanging: list[int] = []
    with node.probe(**QUICK | {"end_within_s": 0.5}, hung_again_s=0.0) as probe:
        probe.look()
        node.add("[gpu 1]\nhang.nvmlDeviceGetUtilizationRates = forever")
        monkeypatch.setattr(Child, "kill", lambda child: hanging.append(child.pid))
        probe.look()
        one = codes(probe.probe.seen().faults)
        for _ in range(4):
            probe.look()
        seen = probe.probe.seen()
        monkeypatch.undo()
        for pid in set(hanging):
            os.kill(pid, signal.SIGKILL)
        while probe.probe._keeper.unkillable():
            probe.wait_until(time.monotonic() + 0.01)
        node.add("[gpu 1]\nhang.nvmlDeviceGetUtilizationRates = 0")
        after = probe.look()

    assert (one, len(set(hanging))) == (["probe_stuck"], 2)
    assert codes(seen.faults) == ["probe_stuck", "probe_unkillable"]
    assert len(seen.gpus) == 4
    assert (after.faults, [gpu.faults for gpu in after.gpus]) == ((), [()] * 4)


def test_a_child_dies_with_its_parent(node, tmp_path):
    """Even where it hangs in the driver and cannot see that the pipe was closed."""
    node.write("[gpu 0]\nhang.nvmlDeviceGetUtilizationRates = forever\n")
    script = (
        "import asyncio, sys\nfrom inventory.node_agent.probe import Probe, ProbeSettings\n"
        "async def main():\n"
        "    probe = Probe(ProbeSettings(card_deadline_s=600))\n"
        "    await probe.start()\n"
        "    while not probe.child_pid:\n        await asyncio.sleep(0.01)\n"
        "    print(probe.child_pid, flush=True)\n    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], env=os.environ | node.environment, stdout=PIPE) as parent:
        pid = int(parent.stdout.readline())
        while "nvmlDeviceGetMigMode" not in node.called():
            time.sleep(0.01)

        parent.kill()

    deadline_s = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists()


async def _with_a_busy_loop(probe, busy_s: float) -> None:
    round_ = asyncio.create_task(probe.look())
    # The child is told and at work.
    await asyncio.sleep(0.05)
    time.sleep(busy_s)
    await round_


async def _with_signal(probe, sent: signal.Signals, after_s: float) -> None:
    round_ = asyncio.create_task(probe.look())
    await asyncio.sleep(after_s)
    os.kill(probe.child_pid, sent)
    await round_


def _asked_by(node, probe) -> tuple[list[str], int]:
    """The cards asked in one round, in their order, and how many children that took beyond the one there was."""
    asked, pid = len(_asked(node)), probe.probe.child_pid
    probe.poll()
    return _asked(node)[asked:], int(probe.probe.child_pid != pid)


def _asked(node) -> list[str]:
    return [device for function, device, _ in node.calls() if function == "nvmlDeviceGetUtilizationRates"]
