"""Carrying moves out: node by node told, and believed only by a later reading."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from allocations import executor, plans, queries
from allocations.executor import delivery
from allocations.models import Assignment, Holding, Move, Notice, Project
from inventory.models import Event, Reading
from tests import factories
from tests.allocations.machines import commit, committed, holdings, states

A_SECOND = timedelta(seconds=1)


def only(plan) -> Move:
    return plan.moves.order_by("gpu_id")[0]


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


def _complete() -> list[tuple[str, str]]:
    """Who was told that all GPUs of a grant are there, and under which subject."""
    rows = Notice.objects.filter(event__verb="grant.complete").order_by("pk")
    return list(rows.values_list("person__username", "subject"))


def test_lead_and_pitcher_hear_once_that_all_gpus_are_there(lab, machines):
    machines.rack(gpus=3)
    grant = factories.grant(lab.project, gpus=3, pitch=factories.submitted(lab.project, lab.pitcher, gpus=3))
    committed(grant, lab.ops)
    executor.run_pass()
    *first, last = Move.objects.order_by("gpu_id")
    machines.see([move.gpu for move in first])

    executor.run_pass()
    before = _complete()
    machines.see([last.gpu])
    executor.run_pass()
    executor.run_pass()

    assert before == []
    assert sorted(_complete()) == [("lead", "Your GPUs are there: 3 H100"), ("pitcher", "Your GPUs are there: 3 H100")]
    assert Notice.objects.filter(event__verb="grant.complete").first().path == f"/grants/{grant.public_id}/"


def test_what_is_told_once_is_not_told_again_when_gpus_were_replaced(lab, machines):
    machines.rack(gpus=2)
    grant = factories.grant(lab.project, gpus=2)
    committed(grant, lab.ops)
    machines.settle()

    with transaction.atomic():
        delivery.tell_delivered({grant.pk})

    assert _complete() == [("lead", "Your GPUs are there: 2 H100")]


@pytest.mark.parametrize("count", [1, 3])
def test_telling_costs_the_same_for_any_number_of_grants(lab, machines, django_assert_num_queries, count):
    grants = [factories.grant(lab.project, gpus=1) for _ in range(count)]
    for grant, card in zip(grants, machines.rack(gpus=count), strict=True):
        machines.give([card], lab.project, grant)

    with transaction.atomic(), django_assert_num_queries(6):
        delivery.tell_delivered({grant.pk for grant in grants})

    assert len(_complete()) == count


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


# --- cost


@pytest.mark.parametrize("racks", [1, 3])
def test_a_pass_takes_the_same_number_of_queries_for_any_number_of_moves(
    lab, machines, racks, django_assert_num_queries
):
    for _ in range(racks):
        machines.rack(gpus=3)
    plan = committed(factories.grant(lab.project, gpus=3 * racks), lab.ops)

    with django_assert_num_queries(21):
        executor.run_pass()
    machines.see()
    with django_assert_num_queries(19):
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
