"""Several people commit at once: threads that meet inside the window in which they could hurt each other."""

import pytest

from allocations import executor, plans
from allocations.errors import Stale
from allocations.models import Assignment, Move, Target
from allocations.plans import commit as committing
from inventory.models import Event
from tests import factories
from tests.allocations.machines import assigned, commit, committed, states
from tests.races import Window, at_once, kinds

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def target(db) -> Target:
    """The target is there: making it would keep the first two commits apart by itself."""
    return Target.objects.create(pk=1, generation=1)


def test_of_two_plans_for_the_same_gpus_on_one_parent_one_wins(lab, machines, monkeypatch):
    cards = machines.rack(gpus=1)
    rivals = [
        plans.propose_plan(grant=factories.grant(project, gpus=1), by=lab.ops)
        for project in (lab.project, lab.applied_project)
    ]
    monkeypatch.setattr(committing, "check_all", Window(2).after(committing.check_all))

    results = at_once(*(lambda plan=plan: commit(plan, lab.ops) for plan in rivals))

    assert kinds(results) == ["Plan", "Stale"]
    [winner] = [result for result in results if not isinstance(result, Stale)]
    assert Target.objects.get().plan == winner
    assert Target.objects.get().generation == 2
    assert assigned(cards) == [winner.grant.project.slug]
    assert [move.plan for move in Move.objects.all()] == [winner]


def test_of_two_plans_for_other_gpus_on_one_parent_both_win_one_after_the_other(lab, machines, monkeypatch):
    cards = [*machines.rack(gpus=1), *machines.rack(gpus=1, model=factories.model("A100"))]
    first = plans.propose_plan(grant=factories.grant(lab.project, gpus=1), by=lab.ops)
    other = factories.grant(lab.applied_project, gpus=1, model=factories.model("A100"))
    second = plans.propose_plan(grant=other, by=lab.ops)
    monkeypatch.setattr(committing, "check_all", Window(2).after(committing.check_all))

    results = at_once(*(lambda plan=plan: commit(plan, lab.ops) for plan in (first, second)))

    assert kinds(results) == ["Plan", "Plan"]
    assert sorted(plan.generation for plan in results) == [2, 3]
    assert assigned(cards) == ["protein-folding", "assistant"]
    assert Target.objects.get().generation == 3


def test_six_who_press_commit_at_once_have_one_effect_and_one_notice(lab, machines, monkeypatch):
    machines.rack(gpus=2)
    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=2), by=lab.ops)
    monkeypatch.setattr(committing, "_check_uncommitted", Window(6).after(committing._check_uncommitted))

    results = at_once(
        *(lambda: plans.commit_plan(plan=type(plan).objects.get(), by=lab.ops, generation=1) for _ in range(6))
    )

    assert kinds(results) == ["Plan", *["Stale"] * 5]
    assert (Move.objects.count(), Assignment.objects.count(), Target.objects.get().generation) == (2, 2, 2)
    [event] = Event.objects.filter(verb="plan.committed")
    assert [message.person for message in event.messages.all()] == [lab.lead]


def test_two_plans_for_one_need_at_once_never_bring_more_than_it_lacks(lab, machines, monkeypatch):
    cards = machines.rack(gpus=2)
    grant = factories.grant(lab.project, gpus=1)
    first = plans.propose_plan(grant=grant, by=lab.ops)
    taken = first.steps.get().gpu
    factories.cordon(taken.node)
    others = machines.rack(gpus=1)
    second = plans.propose_plan(grant=grant, by=lab.ops)
    taken.node.cordons.all().delete()
    monkeypatch.setattr(committing, "check_all", Window(2).after(committing.check_all))

    results = at_once(*(lambda plan=plan: commit(plan, lab.ops) for plan in (first, second)))

    assert kinds(results) == ["Plan", "Stale"]
    assert sorted(assigned([*cards, *others])) == ["", "", "protein-folding"]


def test_two_undos_of_one_plan_at_once_restore_once(lab, machines, ended, monkeypatch):
    plan = committed(factories.grant(lab.project, gpus=3), lab.ops)
    executor.run_pass()
    undos = [plans.propose_undo(plan=plan, by=lab.ops) for _ in range(2)]
    monkeypatch.setattr(committing, "check_all", Window(2).after(committing.check_all))

    results = at_once(*(lambda undo=undo: commit(undo, lab.ops) for undo in undos))
    machines.settle()

    assert kinds(results) == ["Plan", "Stale"]
    assert states(plan) == ["superseded"] * 3
    assert machines.holders(ended) == ["assistant"] * 3
