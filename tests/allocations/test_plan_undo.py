"""Plans that take back: the undo of a plan, and the release of what the right to has ended."""

import pytest
from django.utils import timezone

from allocations import plans, queries
from allocations.errors import NothingToPlan, Stale, WrongState
from allocations.models import Move
from inventory.models import Gpu, Reading
from tests import factories
from tests.allocations.machines import HOUR, assigned, commit, committed, end, ended_grant, states, winding_down

# --- undo


def test_undo_restores_who_had_every_gpu_before(lab, machines):
    free, held = machines.rack(gpus=1), machines.rack(gpus=1)
    old = ended_grant(lab.applied_project)
    machines.give(held, lab.applied_project, old)
    plan = committed(factories.grant(lab.project, gpus=2), lab.ops)
    machines.settle()

    undo = commit(plans.propose_undo(plan=plan, by=lab.ops), lab.ops)
    machines.settle()

    assert assigned([*free, *held]) == ["", "assistant"]
    assert machines.holders([*free, *held]) == ["", "assistant"]
    assert [row.grant for row in queries.holdings_now()] == [old]
    assert (undo.inverse_of, undo.purpose, states(undo)) == (plan, "undo", ["done", "done"])
    assert [row.missing_gpus for row in queries.needs()] == [2]


def test_undo_half_way_replaces_the_moves_that_are_still_open(lab, machines):
    cards = machines.rack(gpus=2)
    machines.give(cards, lab.applied_project, ended_grant(lab.applied_project, gpus=2))
    plan = committed(factories.grant(lab.project, gpus=2), lab.ops)
    Move.objects.filter(gpu=cards[0]).update(state="done", switched_at=timezone.now(), done_at=timezone.now())

    undo = plans.propose_undo(plan=plan, by=lab.ops)
    replaces = [step.replaces for step in undo.steps.order_by("gpu")]
    commit(undo, lab.ops)

    assert replaces == [None, plan.moves.get(gpu=cards[1])]
    assert states(plan) == ["done", "superseded"]
    assert states(undo) == ["proposed", "proposed"]
    assert assigned(cards) == ["assistant"] * 2


def test_a_move_that_is_done_between_undo_and_its_commit_stays_done(lab, machines):
    cards = machines.rack(gpus=1)
    plan = committed(factories.grant(lab.project, gpus=1), lab.ops)
    undo = plans.propose_undo(plan=plan, by=lab.ops)
    machines.settle()

    commit(undo, lab.ops)
    machines.settle()

    assert (states(plan), states(undo)) == (["done"], ["done"])
    assert machines.holders(cards) == [""]


def test_an_undo_is_undone_by_another(lab, machines):
    cards = machines.rack(gpus=2)
    machines.give(cards, lab.applied_project, ended_grant(lab.applied_project, gpus=2))
    plan = committed(factories.grant(lab.project, gpus=2), lab.ops)
    undo = commit(plans.propose_undo(plan=plan, by=lab.ops), lab.ops)

    again = commit(plans.propose_undo(plan=undo, by=lab.ops), lab.ops)
    machines.settle()

    assert again.inverse_of == undo
    assert machines.holders(cards) == ["protein-folding"] * 2
    assert list(queries.needs()) == []


def test_undo_leaves_what_a_later_plan_moved_on_and_says_so(lab, machines):
    cards = machines.rack(gpus=2)
    grant = factories.grant(lab.project, gpus=2)
    plan = committed(grant, lab.ops)
    machines.settle()
    end(grant)
    committed(factories.grant(lab.applied_project, gpus=1), lab.ops)
    moved_on, still_there = sorted(cards, key=lambda card: assigned([card]) != ["assistant"])

    undo = commit(plans.propose_undo(plan=plan, by=lab.ops), lab.ops)

    assert undo.why == {"restored_gpus": 1, "left": {"assigned_on": [str(moved_on)]}}
    assert assigned([moved_on, still_there]) == ["assistant", ""]


def test_undo_of_what_is_all_gone_is_refused_with_the_reasons(lab, machines):
    cards = machines.rack(gpus=1)
    plan = committed(factories.grant(lab.project, gpus=1), lab.ops)
    Gpu.objects.update(lost_at=timezone.now())

    with pytest.raises(NothingToPlan) as refusal:
        plans.propose_undo(plan=plan, by=lab.ops)

    assert refusal.value.facts["left"] == {"gone": [str(cards[0])]}


def test_a_card_that_is_no_more_takes_no_place_in_its_grant(lab, machines):
    machines.rack(gpus=2)
    grant = factories.grant(lab.project, gpus=1)
    undo = commit(plans.propose_undo(plan=committed(grant, lab.ops), by=lab.ops), lab.ops)
    later = committed(grant, lab.ops)
    Gpu.objects.filter(moves__plan=later).update(retired_at=timezone.now())

    again = plans.propose_undo(plan=undo, by=lab.ops)

    assert again.why == {"restored_gpus": 1, "left": {}}


def test_an_undo_of_an_undo_does_not_fill_a_grant_twice(lab, machines):
    machines.rack(gpus=2)
    grant = factories.grant(lab.project, gpus=1)
    undo = commit(plans.propose_undo(plan=committed(grant, lab.ops), by=lab.ops), lab.ops)
    committed(grant, lab.ops)

    with pytest.raises(NothingToPlan) as refusal:
        plans.propose_undo(plan=undo, by=lab.ops)

    assert list(refusal.value.facts["left"]) == ["grant_full"]


def test_a_grant_that_is_filled_before_the_undo_of_the_undo_is_committed_is_not_overfilled(lab, machines):
    cards = machines.rack(gpus=2)
    grant = factories.grant(lab.project, gpus=1)
    undo = commit(plans.propose_undo(plan=committed(grant, lab.ops), by=lab.ops), lab.ops)
    again = plans.propose_undo(plan=undo, by=lab.ops)
    committed(grant, lab.ops)

    with pytest.raises(Stale):
        commit(again, lab.ops)

    assert sorted(assigned(cards)) == ["", "protein-folding"]


def test_only_a_committed_plan_can_be_undone(lab, machines):
    machines.rack(gpus=1)
    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=1), by=lab.ops)

    with pytest.raises(WrongState):
        plans.propose_undo(plan=plan, by=lab.ops)


def test_undo_is_refused_at_commit_when_a_gpu_was_lost_since(lab, machines):
    machines.rack(gpus=1)
    plan = committed(factories.grant(lab.project, gpus=1), lab.ops)
    undo = plans.propose_undo(plan=plan, by=lab.ops)
    Gpu.objects.update(lost_at=timezone.now())

    with pytest.raises(Stale):
        commit(undo, lab.ops)


# --- release


def test_a_release_takes_back_what_the_right_to_has_ended(lab, machines):
    cards = machines.rack(gpus=3)
    machines.give(cards[:2], lab.project, ended_grant(lab.project, gpus=2))
    machines.give(cards[2:], lab.project, factories.grant(lab.project, gpus=1))

    plan = commit(plans.propose_release(project=lab.project, by=lab.ops), lab.ops)
    machines.settle()

    assert plan.why == {"released_gpus": 2, "left": {"held": [str(cards[2])]}}
    assert assigned(cards) == ["", "", "protein-folding"]
    assert machines.holders(cards) == ["", "", "protein-folding"]
    assert [row.gpu for row in queries.holdings_now()] == [cards[2]]


def test_a_release_takes_back_what_was_promised_for_a_date_that_has_come_and_nothing_before(lab, machines):
    cards, later_cards = machines.rack(gpus=1), machines.rack(gpus=1)
    now, later = winding_down(), winding_down(releases_at=timezone.now() + HOUR)
    machines.give(cards, now, factories.grant(now))
    machines.give(later_cards, later, factories.grant(later))

    commit(plans.propose_release(project=now, by=lab.ops), lab.ops)
    with pytest.raises(NothingToPlan) as refusal:
        plans.propose_release(project=later, by=lab.ops)

    assert assigned([*cards, *later_cards]) == ["", later.slug]
    assert refusal.value.facts["left"] == {"winding_down": [str(later_cards[0])]}


def test_there_is_nothing_to_release_while_the_grant_runs(lab, machines):
    cards = machines.rack(gpus=1)
    machines.give(cards, lab.project, factories.grant(lab.project))

    with pytest.raises(NothingToPlan) as refusal:
        plans.propose_release(project=lab.project, by=lab.ops)

    assert refusal.value.facts["left"] == {"held": [str(cards[0])]}


def test_a_release_of_what_is_granted_anew_meanwhile_is_refused(lab, machines):
    cards = machines.rack(gpus=1)
    machines.give(cards, lab.project, ended_grant(lab.project, gpus=1))
    release = plans.propose_release(project=lab.project, by=lab.ops)
    committed(factories.grant(lab.project, gpus=1), lab.ops)

    with pytest.raises(Stale):
        commit(release, lab.ops)


@pytest.mark.parametrize(
    "change",
    [
        lambda project: factories.terms(project, protected=True),
        lambda project: Reading.objects.update(holder="somebody"),
        lambda project: Reading.objects.update(requested_at=timezone.now() - HOUR),
    ],
)
def test_a_release_takes_nothing_back_that_it_would_not_propose_any_more(lab, machines, change):
    cards = machines.rack(gpus=1)
    machines.give(cards, lab.project, ended_grant(lab.project, gpus=1))
    release = plans.propose_release(project=lab.project, by=lab.ops)
    change(lab.project)

    with pytest.raises(Stale):
        commit(release, lab.ops)

    assert assigned(cards) == ["protein-folding"]
