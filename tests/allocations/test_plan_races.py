"""Several people and workers at once: threads that meet inside the window in which they could hurt each other."""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from allocations import executor, plans, queries
from allocations.errors import Stale
from allocations.executor import orders, proof
from allocations.models import Assignment, Holding, Move, Target
from allocations.models.states import StateQuerySet
from allocations.plans import commit as committing
from inventory.errors import NodeUnreachable
from inventory.models import Event, Gpu
from tests import factories
from tests.allocations.machines import assigned, commit, committed, states

pytestmark = pytest.mark.django_db(transaction=True)

MEET_S = 1.0  # how long one waits for the others; they do not come where a lock keeps them out, as it should
END_S = 30


class Window:
    """A place that threads enter together, unless something keeps them from it."""

    def __init__(self, threads: int) -> None:
        self._barrier = threading.Barrier(threads)

    def enter(self) -> None:
        with suppress(threading.BrokenBarrierError):
            self._barrier.wait(MEET_S)

    def after(self, function: Callable) -> Callable:
        """`function`, and then the window."""

        def wrapped(*args, **kwargs):
            result = function(*args, **kwargs)
            self.enter()
            return result

        return wrapped


def at_once(*works: Callable[[], object]) -> list[object]:
    """What each work returned or raised, when all have run at once, each on its own connection."""
    results: list[object] = [None] * len(works)

    def run(index: int, work: Callable[[], object]) -> None:
        try:
            results[index] = work()
        except BaseException as error:
            results[index] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(index, work), daemon=True) for index, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(END_S)
    assert not any(thread.is_alive() for thread in threads)
    return results


def kinds(results: list[object]) -> list[str]:
    return sorted(type(result).__name__ for result in results)


@pytest.fixture(autouse=True)
def target(db) -> Target:
    """The target is there: making it would keep the first two commits apart by itself."""
    return Target.objects.create(pk=1, generation=1)


@pytest.fixture
def ended(lab, machines) -> list[Gpu]:
    """Three GPUs that an ended grant left with the assistant."""
    cards = machines.rack(gpus=3)
    now = timezone.now()
    old = factories.grant(lab.applied_project, gpus=3, starts_at=now - timedelta(hours=2), ends_at=now)
    machines.give(cards, lab.applied_project, old)
    return cards


# --- commits


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


# --- passes


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
            lucky_is_done.wait(MEET_S)
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
        about_to_supersede.wait(MEET_S)
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
