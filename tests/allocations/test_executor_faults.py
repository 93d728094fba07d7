"""Carrying moves out when nodes are silent or refuse, and when the worker dies after any call."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import executor, plans, queries
from allocations.models import Holding, Move, Notice, OutboxMessage
from inventory.models import Event, Gpu
from tests import factories
from tests.allocations.machines import Crash, assigned, commit, committed, crashed, holdings, states

A_SECOND = timedelta(seconds=1)
CALLS = 6  # to the driver, for three busy GPUs: one that finds each draining, one that finds it switched


def only(plan) -> Move:
    return plan.moves.order_by("gpu_id")[0]


# --- what goes wrong


def test_a_silent_node_is_waited_for_and_the_others_go_on(plan, machines, ended):
    silent = machines.nodes[ended[2].node.name]
    silent.killed = True
    machines.settle()
    waiting = Move.objects.get(gpu=ended[2])
    silent.killed = False
    machines.settle()

    assert (waiting.state, waiting.fault, waiting.attempts > 1) == ("agreed", "node_unreachable", True)
    assert states(plan) == ["done"] * 3
    assert [move.fault for move in plan.moves.all()] == [""] * 3


def test_repeated_faults_are_tried_less_and_less_often_and_a_good_answer_ends_that(lab, machines, time_machine):
    [gpu] = machines.rack(gpus=1)
    committed(factories.grant(lab.project, gpus=1), lab.ops)
    node = machines.nodes[gpu.node.name]
    node.killed = True
    start = timezone.now()
    tries = []
    for second in range(100):
        time_machine.move_to(start + second * A_SECOND, tick=False)
        before = len(machines.calls)
        executor.run_pass()
        tries += [second] * (len(machines.calls) - before)
    node.killed = False
    time_machine.move_to(start + 120 * A_SECOND, tick=False)
    executor.run_pass()

    assert tries == [0, 3, 9, 21, 45, 69, 93]
    move = Move.objects.get()
    assert (move.state, move.fault, move.attempts) == ("switching", "", 1)


def test_a_long_drain_does_not_make_the_first_fault_wait_long(plan, machines, ended):
    for _ in range(5):
        executor.run_pass()
    machines.nodes[ended[2].node.name].killed = True
    executor.run_pass()

    moves = plan.moves.order_by("gpu_id")
    assert [(move.state, move.attempts) for move in moves] == [("draining", 6), ("draining", 6), ("draining", 1)]


def test_moves_of_nodes_that_answer_are_told_first(plan, machines, ended):
    Move.objects.update(tried_at=timezone.now())
    Move.objects.filter(gpu=ended[0]).update(
        fault="node_unreachable", attempts=1, tried_at=timezone.now() - 60 * A_SECOND
    )

    executor.run_pass()

    assert [uuid for uuid, _ in machines.calls] == [ended[1].uuid, ended[2].uuid, ended[0].uuid]


@pytest.mark.parametrize(
    ("code", "break_it"),
    [
        ("older_generation", lambda device: device.seed("somebody", 90, 0)),
        ("generation_conflict", lambda device: device.seed("somebody", 2, 0)),
        ("gpu_lost", lambda device: setattr(device, "lost", True)),
        ("unknown_gpu", lambda device: device.replace_card()),
    ],
)
def test_what_the_node_will_never_do_fails_with_its_code(plan, machines, ended, code, break_it):
    device = machines.device(ended[0])
    break_it(device)

    executor.run_pass()
    executor.run_pass()

    move = only(plan)
    assert (move.state, move.fault, move.failed_at is not None) == ("failed", code, True)
    event = Event.objects.get(verb="move.failed")
    assert (event.subject_id, event.facts["code"]) == (str(move.pk), code)
    assert states(plan) == ["failed", "draining", "draining"]
    assert assigned(ended[:1]) == ["protein-folding"]
    told = Notice.objects.filter(event=event).values_list("person__username", "subject", "path")
    assert list(told) == [("ops", f"A move has failed: {code}", "/reshuffle/")]
    assert OutboxMessage.objects.filter(event=event).count() == 1


def test_many_that_fail_alike_are_one_notice(plan, machines, ended):
    """500 GPUs down at once: one digest."""
    for gpu in ended:
        machines.device(gpu).lost = True

    executor.run_pass()
    executor.run_pass()

    assert states(plan) == ["failed"] * 3
    assert Notice.objects.get(person__username="ops").subject == "3 moves have failed: gpu_lost"


def test_a_wrong_token_is_a_fault_and_not_the_end(plan, machines, ended):
    machines.nodes[ended[2].node.name].token = "another"

    executor.run_pass()

    assert [(move.state, move.fault) for move in plan.moves.order_by("gpu_id")] == [
        ("draining", ""),
        ("draining", ""),
        ("agreed", "bad_token"),
    ]


def test_a_unit_without_uuid_fails_as_one_that_its_node_does_not_know(lab, machines):
    machines.rack(gpus=1)
    plan = committed(factories.grant(lab.project, gpus=1), lab.ops)
    Gpu.objects.update(uuid=None)

    executor.run_pass()

    assert (only(plan).state, only(plan).fault) == ("failed", "unknown_gpu")


def test_one_gpu_whose_past_contradicts_itself_does_not_keep_the_others_from_being_done(lab, machines, caplog):
    cards = machines.rack(gpus=2)
    plan = committed(factories.grant(lab.project, gpus=2), lab.ops)
    # Somebody is on record as holding this GPU from tomorrow on: any holding without end contradicts that.
    factories.holding(cards[0], lab.applied_project, since=timezone.now() + timedelta(days=1), until=None)
    Holding.objects.update(during=(timezone.now() + timedelta(days=1), timezone.now() + timedelta(days=2)))

    machines.settle()

    assert states(plan) == ["switching", "done"]
    assert "contradicts" in caplog.text


# --- every step, with a crash after each call


def test_an_undisturbed_plan_of_three_takes_as_many_calls_as_the_next_tests_die_after(plan, machines):
    for _ in range(3):
        executor.run_pass()
        machines.finish_drains()
        machines.see()

    assert (states(plan), len(machines.calls)) == (["done"] * 3, CALLS)


@pytest.mark.parametrize("call", range(1, CALLS + 1))
def test_a_worker_that_dies_after_any_call_changes_nothing_in_the_end(lab, machines, ended, call):
    plan = committed(factories.grant(lab.project, gpus=3), lab.ops)
    machines.crash_after = call
    deaths = 0
    for _ in range(6):
        try:
            executor.run_pass()
        except BaseException as error:
            if not crashed(error):
                raise
            deaths += 1
        machines.finish_drains()
        machines.see()
    machines.settle()

    assert deaths == 1
    assert states(plan) == ["done"] * 3
    assert machines.holders(ended) == ["protein-folding"] * 3
    assert holdings(ended) == [("assistant", False), ("protein-folding", True)] * 3
    assert Event.objects.filter(verb="move.done").count() == 3
    assert {order.generation for _, order in machines.calls} == {plan.generation}


@pytest.mark.parametrize("call", range(1, CALLS + 1))
def test_an_undo_after_any_call_restores_what_was(lab, machines, ended, call):
    plan = committed(factories.grant(lab.project, gpus=3), lab.ops)
    machines.crash_after = call
    try:
        for _ in range(4):
            executor.run_pass()
            machines.finish_drains()
            machines.see()
    except BaseException as error:
        if not crashed(error):
            raise

    undo = commit(plans.propose_undo(plan=plan, by=lab.ops), lab.ops)
    machines.settle()

    assert states(undo) == ["done"] * 3
    assert machines.holders(ended) == assigned(ended) == ["assistant"] * 3
    assert [row.project.slug for row in queries.holdings_now()] == ["assistant"] * 3
    assert Move.objects.filter(state__in=Move.OPEN).count() == 0


def test_a_pass_begun_before_a_commit_does_no_harm(lab, machines, ended, monkeypatch):
    plan = committed(factories.grant(lab.project, gpus=3), lab.ops)
    executor.run_pass()
    machines.finish_drains()
    late = []

    # The orders of this pass go out, and before their answers are written the undo is committed and carried out.
    def undo_in_between(orders):
        answers = tell(orders)
        if not late:
            late.append(commit(plans.propose_undo(plan=plan, by=lab.ops), lab.ops))
            executor.run_pass()
        return answers

    tell = executor.orders.loop.ensure_many
    monkeypatch.setattr(executor.orders.loop, "ensure_many", undo_in_between)
    executor.run_pass()
    machines.settle()

    assert states(plan) == ["superseded"] * 3
    assert states(late[0]) == ["done"] * 3
    assert machines.holders(ended) == ["assistant"] * 3


def test_an_order_that_arrives_after_a_newer_one_is_refused_by_the_node_and_fails_nothing(
    lab, machines, ended, monkeypatch
):
    plan = committed(factories.grant(lab.project, gpus=3), lab.ops)
    executor.run_pass()
    tell = executor.orders.loop.ensure_many
    undone = []

    # The undo is committed and told to the nodes while the orders of this pass are still on their way.
    def late(orders):
        if not undone:
            undone.append(commit(plans.propose_undo(plan=plan, by=lab.ops), lab.ops))
            executor.run_pass()
        return tell(orders)

    monkeypatch.setattr(executor.orders.loop, "ensure_many", late)
    executor.run_pass()

    assert states(plan) == ["superseded"] * 3
    assert Event.objects.filter(verb="move.failed").count() == 0
    assert machines.holders(ended) == ["assistant"] * 3


def test_the_crash_of_these_tests_is_not_taken_for_a_fault_of_a_node():
    assert not isinstance(Crash(), Exception)
    assert crashed(BaseExceptionGroup("tasks", [Crash()]))
    assert not crashed(BaseExceptionGroup("tasks", [Crash(), KeyboardInterrupt()]))
