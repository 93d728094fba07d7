"""Carrying moves out: node by node told, believed only by a later reading, whatever happens in between."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import executor, plans, queries
from allocations.models import Assignment, Holding, Move, Project
from inventory.models import Event, Gpu, Reading
from tests import factories
from tests.allocations.machines import Crash, assigned, commit, committed, crashed, states

A_SECOND = timedelta(seconds=1)
CALLS = 6  # to the driver, for three busy GPUs: one that finds each draining, one that finds it switched


@pytest.fixture
def ended(lab, machines) -> list[Gpu]:
    """Three GPUs of two nodes that an ended grant of the assistant left in its hands, busy."""
    cards = [*machines.rack(gpus=2), *machines.rack(gpus=1)]
    now = timezone.now()
    old = factories.grant(lab.applied_project, gpus=3, starts_at=now - 2 * A_SECOND, ends_at=now - A_SECOND)
    machines.give(cards, lab.applied_project, old)
    return cards


@pytest.fixture
def plan(lab, ended):
    """All three go to protein folding."""
    return committed(factories.grant(lab.project, gpus=3), lab.ops)


def only(plan) -> Move:
    return plan.moves.order_by("gpu_id")[0]


def holdings(gpus) -> list[tuple[str, bool]]:
    """(project, still held) of every holding of these GPUs, in the order in which they began."""
    rows = Holding.objects.filter(gpu__in=gpus).order_by("gpu", "during").select_related("project")
    return [(row.project.slug, row.during.upper is None) for row in rows]


# --- one move, step by step


def test_a_move_goes_from_proposed_to_done_and_every_step_says_when(plan, machines, ended):
    before = timezone.now()
    executor.run_pass()
    draining = states(plan)
    machines.finish_drains()
    executor.run_pass()
    switching = states(plan)
    machines.see()
    executor.run_pass()

    assert (draining, switching, states(plan)) == (["draining"] * 3, ["switching"] * 3, ["done"] * 3)
    move = only(plan)
    stamps = [move.proposed_at, move.noticed_at, move.agreed_at, move.draining_at, move.switched_at, move.done_at]
    assert stamps == sorted(stamps)
    assert move.noticed_at > before
    assert machines.holders(ended) == ["protein-folding"] * 3
    assert [event.facts["after"] for event in Event.objects.filter(verb="move.done")] == ["protein-folding"] * 3


def test_a_drain_says_how_many_processes_it_waits_for(plan, machines, ended):
    executor.run_pass()

    assert [move.running for move in plan.moves.order_by("gpu_id")] == [
        len(machines.device(gpu)._pids()) for gpu in ended
    ]
    assert machines.holders(ended) == ["assistant"] * 3


def test_a_free_gpu_switches_in_one_pass(lab, machines):
    machines.rack(gpus=1)
    plan = committed(factories.grant(lab.project, gpus=1), lab.ops)

    executor.run_pass()

    move = only(plan)
    assert (move.state, move.running) == ("switching", 0)
    assert move.draining_at == move.switched_at


def test_the_holding_passes_from_one_to_the_next_without_a_gap_when_the_reading_proves_it(plan, machines, ended):
    machines.settle()

    old, new = Holding.objects.filter(gpu=ended[0]).order_by("generation")
    assert (old.project.slug, new.project.slug, new.grant) == ("assistant", "protein-folding", plan.grant)
    assert old.during.upper == new.during.lower
    assert new.during.lower > only(plan).switched_at
    assert (new.generation, new.during.upper) == (plan.generation, None)


def test_the_first_proof_of_a_gpu_opens_its_first_holding(lab, machines):
    cards = machines.rack(gpus=1)
    committed(factories.grant(lab.project, gpus=1), lab.ops)

    machines.settle()

    assert holdings(cards) == [("protein-folding", True)]


def test_a_busy_gpu_keeps_its_holder_while_its_neighbour_moves(plan, machines, ended):
    executor.run_pass()
    machines.device(ended[0]).drain_ends_at = float("inf")
    machines.settle()

    assert states(plan) == ["draining", "done", "done"]
    assert machines.holders(ended) == ["assistant", "protein-folding", "protein-folding"]
    assert [row.gpu for row in queries.holdings_now().filter(project__slug="assistant")] == [ended[0]]


# --- what is believed


def test_an_agent_that_accepts_and_does_nothing_never_gets_a_move_done(plan, machines, ended):
    for node in machines.nodes.values():
        node.obeys = False

    machines.settle(passes=4)

    assert states(plan) == ["switching"] * 3
    assert holdings(ended) == [("assistant", True)] * 3


def test_an_old_reading_that_agrees_proves_nothing(plan, machines, ended):
    machines.finish_drains()
    executor.run_pass()
    machines.finish_drains()
    executor.run_pass()
    switched_at = only(plan).switched_at
    machines.see(at=switched_at)
    executor.run_pass()
    at_the_switch = states(plan)
    machines.see(at=switched_at - A_SECOND)
    executor.run_pass()

    assert {reading.holder for reading in Reading.objects.filter(gpu__in=ended)} == {"protein-folding"}
    assert (at_the_switch, states(plan)) == (["switching"] * 3, ["switching"] * 3)
    assert holdings(ended) == [("assistant", True)] * 3


@pytest.mark.parametrize(
    "seen",
    [{"holder": "assistant"}, {"holder": ""}, {"holder": None}, {"generation": 1}],
)
def test_a_later_reading_that_disagrees_proves_nothing(plan, machines, seen):
    executor.run_pass()
    machines.finish_drains()
    executor.run_pass()
    machines.see()
    Reading.objects.update(**seen)

    executor.run_pass()

    assert states(plan) == ["switching"] * 3


def test_a_reading_of_a_later_generation_with_the_same_holder_proves_it(plan, machines):
    executor.run_pass()
    machines.finish_drains()
    executor.run_pass()
    machines.see()
    Reading.objects.update(generation=99)

    executor.run_pass()

    assert states(plan) == ["done"] * 3


def test_a_gpu_freed_is_done_when_nobody_has_it(lab, machines, ended):
    release = commit(plans.propose_release(project=lab.applied_project, by=lab.ops), lab.ops)

    machines.settle()

    assert states(release) == ["done"] * 3
    assert machines.holders(ended) == [""] * 3
    assert holdings(ended) == [("assistant", False)] * 3


def test_a_node_that_drains_again_after_its_switch_is_waited_for_anew(plan, machines, ended):
    executor.run_pass()
    machines.finish_drains()
    executor.run_pass()
    machines.see()
    device = machines.device(ended[0])
    device.holder, device.drain_ends_at = "assistant", float("inf")
    Reading.objects.filter(gpu=ended[0]).update(holder="assistant")

    executor.run_pass()

    move = only(plan)
    assert (move.state, move.switched_at, move.done_at) == ("draining", None, None)


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


# --- cost


@pytest.mark.parametrize("racks", [1, 3])
def test_a_pass_takes_the_same_number_of_queries_for_any_number_of_moves(
    lab, machines, racks, django_assert_num_queries
):
    for _ in range(racks):
        machines.rack(gpus=3)
    plan = committed(factories.grant(lab.project, gpus=3 * racks), lab.ops)

    with django_assert_num_queries(20):
        executor.run_pass()
    machines.see()
    with django_assert_num_queries(13):
        executor.run_pass()
    with django_assert_num_queries(8):
        executor.run_pass()

    assert states(plan) == ["done"] * 3 * racks


def test_nothing_to_do_is_nothing_written(lab, machines):
    machines.rack(gpus=1)
    executor.run_pass()

    assert (Move.objects.count(), Assignment.objects.count(), Event.objects.filter(actor="executor").count()) == (
        0,
        0,
        0,
    )
    assert machines.calls == []
    assert Project.objects.count() == 2


def test_the_crash_of_these_tests_is_not_taken_for_a_fault_of_a_node():
    assert not isinstance(Crash(), Exception)
    assert crashed(BaseExceptionGroup("tasks", [Crash()]))
    assert not crashed(BaseExceptionGroup("tasks", [Crash(), KeyboardInterrupt()]))
