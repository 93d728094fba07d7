"""The agent dies at any point between two effects, or the node does: what it comes back to is right all the same."""

import signal
import subprocess
import sys

import pytest

from inventory.node_agent.enforce import Refused, Step
from inventory.node_agent.protocol import Applied, Order, dump_order
from tests.inventory.node_agent.enforce import dying_agent
from tests.inventory.node_agent.enforce.machine import GPU_0, GPU_1, Machine, authority, card, node_seen, order

# An order is written twice on its way: when it comes, and when its drain has ended.
POINTS = [(step, 1) for step in Step] + [(step, 2) for step in (Step.ORDER_WRITTEN, Step.ORDER_NAMED, Step.ORDER_KEPT)]


def killed_at(machine: Machine, order_: Order, step: str, times: int = 1) -> int:
    """How an agent ended that took the order and died at that step."""
    command = [sys.executable, "-m", dying_agent.__name__, str(machine.root), step, str(times)]
    return subprocess.run([*command, dump_order(order_).decode()], check=False).returncode


def codes_of(refused: pytest.ExceptionInfo[Refused]) -> tuple[str, int | None]:
    return refused.value.refusal.code, refused.value.refusal.generation


@pytest.mark.faults
@pytest.mark.parametrize(("step", "times"), POINTS, ids=[f"{step.name}-{times}" for step, times in POINTS])
def test_an_agent_killed_at_any_step_converges_at_its_next_start(machine, ada, bob, step, times):
    machine.enforcer().ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada, stubborn=True)
    second = order("borealis", 2, bob, eviction=authority(machine.clock))

    killed = killed_at(machine, second, step.name, times)
    both_in = not opener.has_ended and machine.may_open(bob)
    # The portal had no answer, so that it repeats its order.
    enforcer = machine.enforcer()
    dying_agent.work_until_true(enforcer, machine.clock, second)
    seen = enforcer.look(node_seen())[0]

    assert (killed, both_in) == (-signal.SIGKILL, False)
    assert opener.ended_by() == signal.SIGKILL
    assert (seen.holder, seen.generation, seen.draining, seen.open_to) == ("borealis", 2, False, (bob,))
    assert [machine.may_open(uid) for uid in (ada, bob)] == [False, True]
    assert [path.name for path in (machine.layout.state / "orders").iterdir()] == [f"{GPU_0}@2@borealis.order"]
    with pytest.raises(Refused) as refused:
        enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    assert codes_of(refused) == ("older_generation", 2)


@pytest.mark.faults
@pytest.mark.parametrize("step", [Step.ORDER_NAMED, Step.ORDER_KEPT, Step.ACCESS_SET, Step.SWITCH_KEPT])
def test_an_order_that_was_kept_is_obeyed_even_if_nobody_repeats_it(machine, ada, bob, step):
    machine.enforcer().ensure(GPU_0, order("apollo", 1, ada), node_seen())

    killed = killed_at(machine, order("borealis", 2, bob), step.name)
    enforcer = machine.enforcer()
    enforcer.reconcile(node_seen())

    assert killed == -signal.SIGKILL
    assert [machine.may_open(uid) for uid in (ada, bob)] == [False, True]


def test_a_node_that_boots_lets_nobody_in_until_it_has_reconciled(machine, ada, bob):
    machine.enforcer().ensure(GPU_0, order("apollo", 1, ada), node_seen())

    machine.boot()
    enforcer = machine.enforcer()
    before = [machine.may_open(uid) for uid in (ada, bob)], enforcer.look(node_seen())[0].holder
    enforcer.reconcile(node_seen())
    seen = enforcer.look(node_seen())[0]

    assert before == ([False, False], None)
    assert [machine.may_open(uid) for uid in (ada, bob)] == [True, False]
    assert (seen.holder, seen.generation, seen.faults) == ("apollo", 1, ())


def test_a_boot_ends_every_drain(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada)
    answer = enforcer.ensure(GPU_0, order("borealis", 2, bob), node_seen())

    opener.end()
    machine.boot()
    enforcer = machine.enforcer()
    enforcer.reconcile(node_seen())

    assert answer.state == "draining"
    assert enforcer.look(node_seen())[0].holder == "borealis"


def test_generations_are_refused_as_the_simulator_refuses_them(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 5, ada), node_seen())

    with pytest.raises(Refused) as older:
        enforcer.ensure(GPU_0, order("borealis", 4, bob), node_seen())
    with pytest.raises(Refused) as conflict:
        enforcer.ensure(GPU_0, order("borealis", 5, bob), node_seen())
    with pytest.raises(Refused) as strange:
        enforcer.ensure("GPU-of-another-node", order("borealis", 6, bob), node_seen())
    with pytest.raises(Refused) as lost:
        enforcer.ensure(GPU_0, order("borealis", 6, bob), node_seen(card(lost=True), card(GPU_1)))

    assert codes_of(older) == ("older_generation", 5)
    assert codes_of(conflict) == ("generation_conflict", 5)
    assert codes_of(strange) == ("unknown_gpu", None)
    assert codes_of(lost) == ("gpu_lost", None)
    assert machine.may_open(ada)


@pytest.mark.parametrize(("older", "newer"), [(1, 2), (9, 10)])
def test_an_older_order_that_a_crash_left_behind_does_not_come_back(machine, ada, bob, older, newer):
    orders = machine.layout.state / "orders"
    machine.enforcer().ensure(GPU_0, order("apollo", older, ada), node_seen())
    left_behind = next(orders.iterdir())
    body = left_behind.read_bytes()
    machine.enforcer().ensure(GPU_0, order("borealis", newer, bob), node_seen())
    newest = [path.name for path in orders.iterdir()]
    left_behind.write_bytes(body)

    enforcer = machine.enforcer()
    enforcer.reconcile(node_seen())

    assert newest == [path.name for path in orders.iterdir()] == [f"{GPU_0}@{newer}@borealis.order"]
    assert enforcer.look(node_seen())[0].holder == "borealis"


@pytest.mark.parametrize("torn", [b"", b"\0" * 200, b'{"holder":"apollo"', b"{}\nnull\n"])
def test_a_torn_order_keeps_its_generation_and_lets_nobody_in(machine, ada, bob, torn):
    machine.enforcer().ensure(GPU_0, order("apollo", 7, ada), node_seen())
    next((machine.layout.state / "orders").iterdir()).write_bytes(torn)

    enforcer = machine.enforcer()
    enforcer.reconcile(node_seen())
    seen = enforcer.look(node_seen())[0]
    with pytest.raises(Refused) as older:
        enforcer.ensure(GPU_0, order("borealis", 6, bob), node_seen())
    with pytest.raises(Refused) as conflict:
        enforcer.ensure(GPU_0, order("borealis", 7, bob), node_seen())
    in_between = machine.may_open(ada)
    answer = enforcer.ensure(GPU_0, order("apollo", 7, ada), node_seen())

    assert (seen.holder, [fault.code for fault in seen.faults]) == (None, ["order_unreadable"])
    assert [codes_of(refused) for refused in (older, conflict)] == [("older_generation", 7), ("generation_conflict", 7)]
    assert (in_between, answer, machine.may_open(ada)) == (False, Applied("switched", 0, 7, 0), True)


def test_a_torn_order_whose_holder_still_works_ends_nobody(machine, ada):
    machine.enforcer().ensure(GPU_0, order("apollo", 7, ada, eviction=authority(machine.clock)), node_seen())
    opener = machine.open_as(ada)
    next((machine.layout.state / "orders").iterdir()).write_bytes(b"")

    enforcer = machine.enforcer()
    enforcer.reconcile(node_seen())
    answer = enforcer.ensure(GPU_0, order("apollo", 7, ada), node_seen())

    assert not opener.has_ended
    assert answer == Applied("switched", 0, 7, 0)


def test_an_order_that_cannot_be_kept_is_not_accepted(machine, ada):
    enforcer = machine.enforcer()
    (machine.layout.state / "orders").write_text("in the way")

    with pytest.raises(Refused) as refused:
        enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    enforcer.reconcile(node_seen())

    assert codes_of(refused) == ("not_ready", None)
    assert not machine.may_open(ada)


def test_a_switch_that_cannot_be_kept_waits_and_the_node_says_why(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada)
    enforcer.ensure(GPU_0, order("borealis", 2, bob), node_seen())
    orders = machine.layout.state / "orders"
    orders.rename(machine.layout.state / "away")
    orders.write_text("in the way")

    opener.end()
    enforcer.reconcile(node_seen())
    waiting = machine.may_open(bob), [fault.code for fault in enforcer.faults]
    orders.unlink()
    (machine.layout.state / "away").rename(orders)
    enforcer.reconcile(node_seen())

    assert waiting == (False, ["state_unwritable"])
    assert (machine.may_open(bob), enforcer.faults) == (True, ())
