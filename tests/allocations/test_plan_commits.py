"""Committing plans: what it writes, whom it tells, and what it refuses when something has changed."""

import pytest
from django.utils import timezone

from allocations import plans, queries
from allocations.errors import Stale, Uncovered
from allocations.models import Assignment, Grant, Move, OutboxMessage, Plan, PlanStep, Project, ProjectTerms, Target
from inventory.models import Event, Gpu, Reading
from tests import factories
from tests.allocations.machines import (
    HOUR,
    assigned,
    commit,
    committed,
    end,
    ended_grant,
    readings_age,
    states,
    winding_down,
)


def test_a_commit_assigns_begins_moves_and_is_the_target(lab, machines):
    cards = machines.rack(gpus=2)
    machines.give(cards, lab.applied_project, ended_grant(lab.applied_project, gpus=2))
    grant = factories.grant(lab.project, gpus=2)

    plan = committed(grant, lab.ops)

    target = Target.objects.get()
    assert (target.generation, target.plan, plan.generation, plan.committed_by) == (2, plan, 2, lab.ops)
    moves = [(move.gpu_id, move.from_holder, move.to_holder, move.generation, move.state) for move in plan.moves.all()]
    assert moves == [(card.pk, "assistant", "protein-folding", 2, "proposed") for card in cards]
    old, new = Assignment.objects.filter(gpu=cards[0]).order_by("generation")
    assert (old.project, old.during.upper) == (lab.applied_project, plan.committed_at)
    assert (new.project, new.grant, new.generation, new.during.lower) == (lab.project, grant, 2, plan.committed_at)
    assert new.during.upper is None
    event = Event.objects.get(verb="plan.committed")
    assert (event.actor_id, event.facts["generation"], event.facts["donors"]) == (lab.ops.pk, 2, {"assistant": 2})


def test_donors_lead_and_requester_are_told_once_each_by_the_commit(lab, machines):
    cards = machines.rack(gpus=2)
    donor = winding_down(lead=lab.applied_lead)
    machines.give(cards[:1], donor, factories.grant(donor))
    pitch = factories.pitch(lab.project, lab.pitcher, state="granted", decided_at=timezone.now(), decided_by=lab.chief)
    grant = factories.grant(lab.project, gpus=2, pitch=pitch)

    plan = plans.propose_plan(grant=grant, by=lab.ops)
    before = OutboxMessage.objects.count()
    commit(plan, lab.ops)

    told = OutboxMessage.objects.filter(event__verb="plan.committed").order_by("person")
    bodies = {message.person.username: message.body for message in told}
    assert before == 0
    assert bodies.keys() == {"applied-lead", "lead", "pitcher"}
    assert bodies["applied-lead"] == f"1 GPU leaves {donor}. What runs on it may end first."
    assert bodies["pitcher"] == f"2 GPUs are on their way to {lab.project}."


def test_a_plan_is_committed_once(lab, machines):
    machines.rack(gpus=1)
    plan = committed(factories.grant(lab.project, gpus=1), lab.ops)

    with pytest.raises(Stale) as refusal:
        plans.commit_plan(plan=Plan.objects.get(), by=lab.ops, generation=plan.generation)

    assert refusal.value.facts == {"generation": plan.generation}
    assert (Move.objects.count(), Assignment.objects.count(), Target.objects.get().generation) == (1, 1, 1)


@pytest.mark.parametrize("seen", [-1, 1])
def test_a_commit_names_a_target_that_was_there(lab, machines, seen):
    machines.rack(gpus=1)
    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=1), by=lab.ops)

    with pytest.raises(Stale):
        plans.commit_plan(plan=plan, by=lab.ops, generation=seen)


def test_a_plan_on_an_older_target_is_rebased_when_the_other_touched_other_gpus(lab, machines):
    first_rack, second_rack = machines.rack(gpus=2), machines.rack(gpus=2, model=factories.model("A100"))
    first = plans.propose_plan(grant=factories.grant(lab.project, gpus=2), by=lab.ops)
    other = factories.grant(lab.applied_project, gpus=2, model=factories.model("A100"))
    second = plans.propose_plan(grant=other, by=lab.ops)
    commit(first, lab.ops)

    plans.commit_plan(plan=second, by=lab.ops, generation=0)

    assert assigned([*first_rack, *second_rack]) == ["protein-folding"] * 2 + ["assistant"] * 2
    assert Target.objects.get().generation == 2
    assert states(first) == ["proposed"] * 2
    assert Event.objects.filter(verb="plan.committed").first().facts["rebased_from"] == 1


def test_a_plan_whose_gpu_another_commit_took_is_stale(lab, machines):
    cards = machines.rack(gpus=2)
    first = plans.propose_plan(grant=factories.grant(lab.project, gpus=1), by=lab.ops)
    second = plans.propose_plan(grant=factories.grant(lab.applied_project, gpus=2), by=lab.ops)
    commit(first, lab.ops)

    with pytest.raises(Stale) as refusal:
        commit(second, lab.ops)

    assert refusal.value.facts["gpus"] == [str(cards[0])]
    assert sorted(assigned(cards)) == ["", "protein-folding"]
    assert Target.objects.get().generation == 1


def test_a_gpu_that_came_back_to_where_it_was_is_stale_all_the_same(lab, machines):
    machines.rack(gpus=1)
    waiting = plans.propose_plan(grant=factories.grant(lab.applied_project, gpus=1), by=lab.ops)
    there = committed(factories.grant(lab.project, gpus=1), lab.ops)
    commit(plans.propose_undo(plan=there, by=lab.ops), lab.ops)
    machines.settle()

    with pytest.raises(Stale):
        commit(waiting, lab.ops)


def test_a_plan_that_forgets_an_open_move_is_refused_and_names_it(lab, machines):
    machines.rack(gpus=3)
    first = committed(factories.grant(lab.project, gpus=2), lab.ops)
    plan = plans.propose_plan(grant=factories.grant(lab.applied_project, gpus=1), by=lab.ops)
    forgotten = plan.steps.filter(kind=PlanStep.Kind.KEEP).first()
    forgotten.delete()

    with pytest.raises(Uncovered) as refusal:
        commit(plan, lab.ops)

    assert refusal.value.facts["gpus"] == [str(forgotten.gpu)]
    assert (Target.objects.get().plan, plan.moves.count()) == (first, 0)


def test_a_need_that_grew_since_gets_what_was_planned_and_is_still_a_need(lab, machines):
    machines.rack(gpus=4)
    grant = factories.grant(lab.project, gpus=2)
    plan = plans.propose_plan(grant=grant, by=lab.ops)
    Grant.objects.filter(pk=grant.pk).update(gpus=3)

    commit(plan, lab.ops)

    assert [row.missing_gpus for row in queries.needs()] == [1]


def _shrinks(grant: Grant) -> None:
    Grant.objects.filter(pk=grant.pk).update(gpus=1)


def _is_met_in_part(grant: Grant) -> None:
    [gpu] = factories.fleet(gpus=1)
    factories.assignment(gpu, grant.project, grant=grant)


def _winds_down(grant: Grant) -> None:
    Project.objects.filter(pk=grant.project_id).update(state="winding_down", releases_at=timezone.now())


@pytest.mark.parametrize("change", [_shrinks, _is_met_in_part, end, _winds_down])
def test_a_plan_never_brings_more_than_is_missing_at_commit(lab, machines, change):
    cards = machines.rack(gpus=4)
    grant = factories.grant(lab.project, gpus=2)
    plan = plans.propose_plan(grant=grant, by=lab.ops)
    change(grant)

    with pytest.raises(Stale):
        commit(plan, lab.ops)

    assert assigned(cards) == [""] * 4


@pytest.mark.parametrize(
    "change",
    [
        lambda donor, gpu: Project.objects.filter(pk=donor.pk).update(state="active", releases_at=None),
        lambda donor, gpu: Project.objects.filter(pk=donor.pk).update(releases_at=timezone.now() + HOUR),
        lambda donor, gpu: factories.terms(donor, protected=True),
        lambda donor, gpu: Reading.objects.update(holder="somebody"),
        lambda donor, gpu: readings_age([gpu], timezone.now() - HOUR),
        lambda donor, gpu: factories.cordon(gpu.node),
        lambda donor, gpu: Gpu.objects.update(lost_at=timezone.now()),
        lambda donor, gpu: Gpu.objects.update(retired_at=timezone.now()),
    ],
)
def test_a_donor_who_changed_since_the_proposal_gives_nothing(lab, machines, change):
    [gpu] = machines.rack(gpus=1)
    donor = winding_down()
    machines.give([gpu], donor, factories.grant(donor))
    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=1), by=lab.ops)
    change(donor, gpu)

    with pytest.raises(Stale):
        commit(plan, lab.ops)

    assert assigned([gpu]) == [donor.slug]
    assert Move.objects.count() == 0


def test_a_free_gpu_on_which_something_runs_meanwhile_is_not_taken(lab, machines):
    machines.rack(gpus=1)
    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=1), by=lab.ops)
    Reading.objects.update(running=1)

    with pytest.raises(Stale):
        commit(plan, lab.ops)


def test_a_grant_that_ended_early_goes_on_being_a_donor_when_its_project_ends_too(lab, machines):
    [gpu] = machines.rack(gpus=1)
    machines.give([gpu], lab.applied_project, ended_grant(lab.applied_project))
    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=1), by=lab.ops)
    Project.objects.filter(pk=lab.applied_project.pk).update(state="ended", ended_at=timezone.now())

    commit(plan, lab.ops)

    assert assigned([gpu]) == ["protein-folding"]


def test_protection_that_is_over_protects_no_more(lab, machines):
    [gpu] = machines.rack(gpus=1)
    machines.give([gpu], lab.applied_project, ended_grant(lab.applied_project))
    factories.terms(lab.applied_project, protected=True, until=timezone.now() - HOUR)

    committed(factories.grant(lab.project, gpus=1), lab.ops)

    assert assigned([gpu]) == ["protein-folding"]
    assert ProjectTerms.objects.count() == 1
