"""Several passes at once, and passes that meet commits, inside the window in which they could hurt each other."""

import threading

import pytest
from django.utils import timezone

from allocations import executor, plans, queries
from allocations.executor import delivery, orders, proof
from allocations.models import Holding, Move, Target
from allocations.models.states import StateQuerySet
from allocations.plans import commit as committing
from inventory.errors import NodeUnreachable
from inventory.models import Event
from tests import factories
from tests.allocations.machines import assigned, commit, committed, states
from tests.races import WAIT_S, Window, at_once, kinds

END_S = 60  # only a hang takes longer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def target(db) -> Target:
    """The target is there: making it would keep the first two commits apart by itself."""
    return Target.objects.create(pk=1, generation=1)


def test_two_passes_at_once_at_every_step_carry_a_plan_out_once(lab, machines, ended, monkeypatch):
    plan = committed(factories.grant(lab.project, gpus=3), lab.ops)
    tell = orders.loop.ensure_many
    hold = proof._hold
    seen = []
    for _ in range(6):
        # Both have their answers before either writes; both have found the proof before either holds.
        window = Window(2)
        monkeypatch.setattr(orders.loop, "ensure_many", window.after(tell))
        monkeypatch.setattr(proof, "_hold", Window(2).after(hold))
        results = at_once(executor.run_pass, executor.run_pass)
        machines.finish_drains()
        machines.see()
        seen.append((results, states(plan)))

    assert [results for results, _ in seen] == [[None, None]] * 6
    assert [found[0] for _, found in seen[:3]] == ["draining", "switching", "done"]
    assert machines.holders(ended) == ["protein-folding"] * 3
    assert Holding.objects.filter(project=lab.project).count() == 3
    assert Event.objects.filter(verb="move.done").count() == 3


def test_of_two_passes_that_prove_half_of_a_grant_each_one_tells_that_it_is_whole(lab, machines, monkeypatch):
    cards = machines.rack(gpus=2)
    grant = factories.grant(lab.project, gpus=2)
    committed(grant, lab.ops)
    executor.run_pass()
    machines.see()
    moves = [proof.proven_moves().filter(gpu=card) for card in cards]
    # Both have written their holding before either counts, and without the guard count before either commits.
    monkeypatch.setattr(proof, "_hold", Window(2).after(proof._hold))
    monkeypatch.setattr(delivery, "_held_whole", Window(2).after(delivery._held_whole))

    results = at_once(lambda: proof._finish(moves[0]), lambda: proof._finish(moves[1]))

    assert results == [None, None]
    assert Event.objects.filter(verb="grant.complete").count() == 1


def test_an_answer_that_comes_late_does_not_take_a_move_back(lab, machines, ended, monkeypatch):
    plan = committed(factories.grant(lab.project, gpus=3), lab.ops)
    executor.run_pass()
    tell = orders.loop.ensure_many
    answered, done = threading.Event(), threading.Event()

    # One pass has "draining" in its hands and sleeps; meanwhile the drain ends and another pass gets as far as done.
    def slow(batch):
        answers = tell(batch)
        if threading.current_thread().name == "late":
            answered.set()
            done.wait(END_S)
        return answers

    monkeypatch.setattr(orders.loop, "ensure_many", slow)

    def late() -> None:
        threading.current_thread().name = "late"
        executor.run_pass()

    def meanwhile() -> None:
        answered.wait(END_S)
        machines.settle()
        done.set()

    results = at_once(late, meanwhile)

    assert results == [None, None]
    assert states(plan) == ["done"] * 3
    assert {(move.fault, move.running) for move in plan.moves.all()} == {("", 0)}


def test_two_passes_with_different_answers_do_not_mix_them(lab, machines, ended, monkeypatch):
    plan = committed(factories.grant(lab.project, gpus=3), lab.ops)
    executor.run_pass()
    machines.finish_drains()
    tell, ours = orders.loop.ensure_many, orders._ours
    window, lucky_is_done = Window(2), threading.Event()
    unlucky = threading.local()

    def answers(batch):
        told = tell(batch)
        return [NodeUnreachable("n", "no answer in time")] * len(batch) if hasattr(unlucky, "here") else told

    def write_last(outcomes):
        found = window.after(ours)(outcomes)
        if hasattr(unlucky, "here"):
            lucky_is_done.wait(WAIT_S)
        return found

    monkeypatch.setattr(orders.loop, "ensure_many", answers)
    monkeypatch.setattr(orders, "_ours", write_last)

    def without_luck() -> None:
        unlucky.here = True
        executor.run_pass()

    def with_luck() -> None:
        executor.run_pass()
        lucky_is_done.set()

    results = at_once(without_luck, with_luck)

    assert results == [None, None]
    moves = {(move.state, move.fault) for move in plan.moves.all()}
    assert moves in ({("switching", "")}, {("draining", "node_unreachable")})


def test_a_commit_that_meets_a_proof_waits_for_it_and_goes_on_from_there(lab, machines, ended, monkeypatch):
    plan = committed(factories.grant(lab.project, gpus=3), lab.ops)
    executor.run_pass()
    machines.finish_drains()
    executor.run_pass()
    machines.see()
    undo = plans.propose_undo(plan=plan, by=lab.ops)
    window = Window(2)
    monkeypatch.setattr(proof, "_hold", window.after(proof._hold))
    monkeypatch.setattr(committing, "check_all", window.after(committing.check_all))

    results = at_once(executor.run_pass, lambda: commit(undo, lab.ops))
    met = states(plan)
    machines.settle()

    assert kinds(results) == ["NoneType", "Plan"]
    assert (met, states(undo)) == (["done"] * 3, ["done"] * 3)
    assert machines.holders(ended) == ["assistant"] * 3
    assert [row.project.slug for row in queries.holdings_now()] == ["assistant"] * 3


def test_a_pass_that_meets_a_commit_leaves_it_the_moves_that_it_replaces(lab, machines, ended, monkeypatch):
    plan = committed(factories.grant(lab.project, gpus=3), lab.ops)
    executor.run_pass()
    machines.finish_drains()
    undo = plans.propose_undo(plan=plan, by=lab.ops)
    window = Window(2)
    monkeypatch.setattr(committing, "_assign", window.after(committing._assign))
    monkeypatch.setattr(orders.loop, "ensure_many", window.after(orders.loop.ensure_many))

    results = at_once(executor.run_pass, lambda: commit(undo, lab.ops))
    met = states(plan)
    machines.settle()

    assert kinds(results) == ["NoneType", "Plan"]
    assert met == ["superseded"] * 3
    assert machines.holders(ended) == assigned(ended) == ["assistant"] * 3


def test_a_commit_that_meets_moves_on_the_way_to_their_next_state_supersedes_them_there(
    lab, machines, ended, monkeypatch
):
    plan = committed(factories.grant(lab.project, gpus=3), lab.ops)
    executor.run_pass()
    machines.finish_drains()
    undo = plans.propose_undo(plan=plan, by=lab.ops)
    window, about_to_supersede = Window(2), threading.Event()
    note, advance_many = orders._note, StateQuerySet.advance_many

    # The pass has switched the rows and not yet committed that when the commit looks which moves are open.
    def slow_note(*args):
        window.enter()
        about_to_supersede.wait(WAIT_S)
        note(*args)

    def superseding(self, rows, new, /, **stamps):
        if new == Move.State.SUPERSEDED:
            about_to_supersede.set()
        return advance_many(self, rows, new, **stamps)

    monkeypatch.setattr(orders, "_note", slow_note)
    monkeypatch.setattr(committing, "check_all", window.after(committing.check_all))
    monkeypatch.setattr(StateQuerySet, "advance_many", superseding)
    results = at_once(executor.run_pass, lambda: commit(undo, lab.ops))
    monkeypatch.setattr(orders, "_note", note)
    met = states(plan)
    machines.settle()

    assert kinds(results) == ["NoneType", "Plan"]
    assert met == ["superseded"] * 3
    assert machines.holders(ended) == assigned(ended) == ["assistant"] * 3


def test_a_move_that_switches_anew_while_its_old_switch_is_being_proved_is_not_done_by_it(
    lab, machines, ended, monkeypatch
):
    plan = committed(factories.grant(lab.project, gpus=3), lab.ops)
    executor.run_pass()
    machines.finish_drains()
    executor.run_pass()
    machines.see()
    window, switched_anew = Window(2), threading.Event()
    advance_many = StateQuerySet.advance_many

    # Between the look at the readings and the step to done the moves drain again and switch again.
    def proving(self, rows, new, /, **stamps):
        if new == Move.State.DONE:
            window.enter()
            switched_anew.wait(WAIT_S)
        return advance_many(self, rows, new, **stamps)

    def switch_anew() -> int:
        window.enter()
        changed = Move.objects.filter(state=Move.State.SWITCHING).update(switched_at=timezone.now())
        switched_anew.set()
        return changed

    monkeypatch.setattr(StateQuerySet, "advance_many", proving)
    results = at_once(executor.run_pass, switch_anew)

    assert results == [None, 0]
    assert [move.switched_at < move.gpu.reading.requested_at for move in plan.moves.all()] == [True] * 3
    assert states(plan) == ["done"] * 3
