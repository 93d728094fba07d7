"""Drift between what is intended and what nodes show, failed moves, and the plan that puts both right."""

import pytest
from django.utils import timezone

from allocations import plans, queries
from allocations.errors import NothingToPlan
from allocations.models import Move, Target
from inventory.models import Gpu
from tests import factories
from tests.allocations.machines import HOUR, assigned, commit, committed, readings_age, states


def test_drift_is_what_a_fresh_reading_shows_in_other_hands_with_no_move_open(lab, machines):
    cards = machines.rack(gpus=5)
    machines.give(cards, lab.project, factories.grant(lab.project, gpus=5))
    stale, unknown, moving, agreeing, drifting = cards
    for gpu in (stale, moving, drifting):
        factories.reading(gpu, "somebody")
    factories.reading(unknown, None)
    readings_age([stale], timezone.now() - HOUR)
    plan = plans.propose_repair(by=lab.ops)
    Move.objects.create(plan=plan, gpu=moving, project=lab.project, generation=9, proposed_at=timezone.now())

    found = [(gpu, gpu.intended_holder, gpu.reading.holder) for gpu in queries.drift()]

    assert found == [(drifting, "protein-folding", "somebody")]


def test_a_repair_orders_the_intended_holder_anew(lab, machines):
    cards = machines.rack(gpus=2)
    machines.give(cards[:1], lab.project, factories.grant(lab.project, gpus=1))
    machines.device(cards[0]).seed("somebody", 1, 0)
    machines.device(cards[1]).seed("squatter", 1, 0)
    machines.see()

    plan = commit(plans.propose_repair(by=lab.ops), lab.ops)
    machines.settle()

    assert [(step.source, step.from_holder) for step in plan.steps.order_by("gpu")] == [
        ("drift", "somebody"),
        ("drift", "squatter"),
    ]
    assert machines.holders(cards) == ["protein-folding", ""]
    assert list(queries.drift()) == []


def test_a_repair_lifts_the_target_above_what_the_nodes_know(lab, machines):
    cards = machines.rack(gpus=1)
    machines.give(cards, lab.project, factories.grant(lab.project, gpus=1))
    machines.device(cards[0]).seed("somebody", 700, 0)
    machines.see()

    plan = commit(plans.propose_repair(by=lab.ops), lab.ops)
    machines.settle()

    assert (plan.generation, Target.objects.get().generation) == (701, 701)
    assert machines.holders(cards) == ["protein-folding"]


def test_a_node_that_says_nonsense_does_not_lift_the_target_with_it(lab, machines):
    cards = machines.rack(gpus=1)
    machines.give(cards, lab.project, factories.grant(lab.project, gpus=1))
    machines.device(cards[0]).seed("somebody", 2**62, 0)
    machines.see()

    plan = commit(plans.propose_repair(by=lab.ops), lab.ops)

    assert plan.generation == 2


def test_a_failed_move_is_repaired_by_a_plan_on_top(lab, machines):
    cards = machines.rack(gpus=1)
    machines.device(cards[0]).order = machines.device(cards[0]).order.__class__("somebody", 50)
    failed = committed(factories.grant(lab.project, gpus=1), lab.ops)
    machines.settle()
    machines.device(cards[0]).seed("", 50, 0)
    machines.see()

    repair = commit(plans.propose_repair(by=lab.ops), lab.ops)
    machines.settle()

    assert (states(failed), states(repair)) == (["failed"], ["done"])
    assert machines.holders(cards) == ["protein-folding"]
    with pytest.raises(NothingToPlan):
        plans.propose_repair(by=lab.ops)


def test_a_failed_move_of_a_lost_gpu_is_left_and_named(lab, machines):
    cards = machines.rack(gpus=1)
    committed(factories.grant(lab.project, gpus=1), lab.ops)
    Move.objects.update(state="failed", fault="gpu_lost")
    Gpu.objects.update(lost_at=timezone.now())

    with pytest.raises(NothingToPlan):
        plans.propose_repair(by=lab.ops)

    assert assigned(cards) == ["protein-folding"]
