"""Proposing, committing and undoing plans: what they take, what they refuse, what they leave behind."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import plans, queries
from allocations.errors import NotAllowed, NothingToPlan, Stale, Uncovered, WrongState
from allocations.models import Assignment, Grant, Move, OutboxMessage, Plan, PlanStep, Project, ProjectTerms, Target
from inventory.models import Event, Gpu, Reading
from tests import factories
from tests.allocations.machines import assigned, commit, committed, readings_age, states

HOUR = timedelta(hours=1)


def ended_grant(project: Project, **fields) -> Grant:
    now = timezone.now()
    return factories.grant(project, starts_at=now - 48 * HOUR, ends_at=now - HOUR, **fields)


def winding_down(lead=None, **fields) -> Project:
    values = {"state": Project.State.WINDING_DOWN, "releases_at": timezone.now() - HOUR, "wind_down_reason": "done"}
    return factories.project(lead=lead, **{**values, **fields})


def end(grant: Grant) -> None:
    Grant.objects.filter(pk=grant.pk).update(ends_at=timezone.now())


def skipped(grant: Grant, by) -> dict[str, int]:
    """Why nothing can be taken for the grant."""
    with pytest.raises(NothingToPlan) as refusal:
        plans.propose_plan(grant=grant, by=by)
    return refusal.value.facts["why"]["skipped"]


# --- needs


def test_a_grant_in_force_needs_what_is_not_assigned_to_it(lab, machines):
    cards = machines.rack(gpus=4)
    grant = factories.grant(lab.project, gpus=3)
    machines.give(cards[:1], lab.project, grant)

    found = [(row.pk, row.assigned_gpus, row.missing_gpus) for row in queries.needs()]

    assert found == [(grant.pk, 1, 2)]


def test_needs_are_those_in_force_and_those_of_tomorrow_oldest_first(lab):
    now = timezone.now()
    tomorrow = factories.grant(lab.project, starts_at=now + 23 * HOUR)
    today = factories.grant(lab.project, starts_at=now - HOUR)
    factories.grant(lab.project, starts_at=now + 30 * HOUR)
    ended_grant(lab.project)
    factories.grant(winding_down())

    assert list(queries.needs()) == [today, tomorrow]


def test_a_card_that_was_replaced_leaves_its_grant_short_and_a_lost_one_does_not(lab, machines):
    cards = machines.rack(gpus=2)
    grant = factories.grant(lab.project, gpus=2)
    machines.give(cards, lab.project, grant)
    Gpu.objects.filter(pk=cards[0].pk).update(lost_at=timezone.now())
    before = list(queries.needs())

    Gpu.objects.filter(pk=cards[0].pk).update(retired_at=timezone.now())

    assert before == []
    assert [row.missing_gpus for row in queries.needs()] == [1]


# --- proposing


def test_a_need_is_met_from_free_gpus_exactly(lab, machines):
    cards = machines.rack(gpus=4)
    grant = factories.grant(lab.project, gpus=3)

    plan = plans.propose_plan(grant=grant, by=lab.ops)

    steps = [(step.kind, step.source, step.from_holder, step.project, step.grant) for step in plan.steps.all()]
    assert steps == [("move", "free", "", lab.project, grant)] * 3
    assert (plan.short_gpus, plan.base_generation, plan.generation, plan.parent) == (0, 0, None, None)
    assert plan.why["asked_gpus"] == 3
    assert [taken["code"] for taken in plan.why["taken"]] == ["free"]
    assert assigned(cards) == [""] * 4
    assert Event.objects.get(verb="plan.proposed").facts["gpus"] == 3


def test_free_comes_before_ended_and_ended_before_winding_down(lab, machines):
    free, ended, winding = machines.rack(gpus=1), machines.rack(gpus=1), machines.rack(gpus=1)
    donor = winding_down()
    machines.give(ended, lab.applied_project, ended_grant(lab.applied_project))
    machines.give(winding, donor, factories.grant(donor))
    grant = factories.grant(lab.project, gpus=3)

    plan = plans.propose_plan(grant=grant, by=lab.ops)

    assert list(plan.steps.order_by("gpu").values_list("gpu", "source", "from_holder")) == [
        (free[0].pk, "free", ""),
        (ended[0].pk, "ended", "assistant"),
        (winding[0].pk, "winding_down", donor.slug),
    ]


def test_an_ended_project_is_a_donor_whatever_its_grant_says(lab, machines):
    cards = machines.rack(gpus=1)
    donor = factories.project(state=Project.State.ENDED, ended_at=timezone.now())
    machines.give(cards, donor, factories.grant(donor))

    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=1), by=lab.ops)

    assert [step.source for step in plan.steps.all()] == ["ended"]


def test_what_a_project_promised_for_later_is_not_taken_before_even_for_a_grant_that_starts_later(lab, machines):
    cards = machines.rack(gpus=1)
    donor = winding_down(releases_at=timezone.now() + HOUR)
    machines.give(cards, donor, factories.grant(donor))
    tomorrow = factories.grant(lab.project, gpus=1, starts_at=timezone.now() + 20 * HOUR)

    assert skipped(tomorrow, lab.ops) == {"not_yet_released": 1}


def test_a_protected_project_gives_nothing_also_when_its_grant_ended(lab, machines):
    cards = machines.rack(gpus=1)
    machines.give(cards, lab.applied_project, ended_grant(lab.applied_project))
    factories.terms(lab.applied_project, protected=True)

    assert skipped(factories.grant(lab.project), lab.ops) == {"protected": 1}


def test_a_running_grant_gives_nothing(lab, machines):
    cards = machines.rack(gpus=1)
    machines.give(cards, lab.applied_project, factories.grant(lab.applied_project))

    assert skipped(factories.grant(lab.project), lab.ops) == {"held": 1}


@pytest.mark.parametrize(
    ("code", "break_it"),
    [
        ("stale", lambda gpu: readings_age([gpu], timezone.now() - HOUR)),
        ("stale", lambda gpu: Reading.objects.all().delete()),
        ("unknown", lambda gpu: Reading.objects.update(holder=None)),
        ("unknown", lambda gpu: Reading.objects.update(running=None)),
        ("ghost", lambda gpu: Reading.objects.update(running=1)),
        ("ghost", lambda gpu: Reading.objects.update(holder="somebody")),
        ("lost", lambda gpu: Gpu.objects.update(lost_at=timezone.now())),
        ("cordoned", lambda gpu: factories.cordon(gpu.node)),
    ],
)
def test_doubt_makes_a_gpu_unusable(lab, machines, code, break_it):
    [gpu] = machines.rack(gpus=1)
    break_it(gpu)

    assert skipped(factories.grant(lab.project), lab.ops) == {code: 1}


def test_a_gpu_in_somebody_elses_hands_is_no_donor_even_if_its_grant_ended(lab, machines):
    cards = machines.rack(gpus=1)
    machines.give(cards, lab.applied_project, ended_grant(lab.applied_project))
    Reading.objects.update(holder="somebody")

    assert skipped(factories.grant(lab.project), lab.ops) == {"drift": 1}


def test_a_plan_that_finds_too_little_says_how_much_is_short(lab, machines):
    machines.rack(gpus=2)

    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=5), by=lab.ops)

    assert (plan.steps.count(), plan.short_gpus) == (2, 3)


def test_after_a_commit_there_is_nothing_left_to_plan(lab, machines):
    machines.rack(gpus=4)
    grant = factories.grant(lab.project, gpus=2)
    committed(grant, lab.ops)

    with pytest.raises(NothingToPlan):
        plans.propose_plan(grant=grant, by=lab.ops)


def test_a_new_grant_of_the_same_project_takes_what_its_ended_one_left(lab, machines):
    cards = machines.rack(gpus=2)
    machines.rack(gpus=2)
    machines.give(cards, lab.project, ended_grant(lab.project, gpus=2))
    extension = factories.grant(lab.project, gpus=2)

    committed(extension, lab.ops)
    machines.settle()

    rows = Assignment.objects.filter(during__endswith=None)
    assert [(row.gpu_id, row.grant) for row in rows.order_by("gpu")] == [(card.pk, extension) for card in cards]
    assert [(row.gpu_id, row.grant) for row in queries.holdings_now().order_by("gpu")] == [
        (card.pk, extension) for card in cards
    ]
    assert OutboxMessage.objects.count() == 0


def test_every_open_move_is_kept_by_the_next_plan(lab, machines):
    machines.rack(gpus=4)
    first = committed(factories.grant(lab.project, gpus=2), lab.ops)

    second = plans.propose_plan(grant=factories.grant(lab.applied_project, gpus=1), by=lab.ops)

    kept = second.steps.filter(kind=PlanStep.Kind.KEEP)
    assert [step.keeps for step in kept.order_by("keeps")] == list(first.moves.all())
    assert second.parent == first


@pytest.mark.parametrize("who", ["chief", "ceo", "lead", "pitcher", "auditor", "admin", "stranger"])
def test_only_ops_propose_and_commit(lab, machines, who):
    machines.rack(gpus=1)
    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=1), by=lab.ops)
    person = getattr(lab, who)

    for attempt in [
        lambda: plans.propose_plan(grant=plan.grant, by=person),
        lambda: plans.propose_release(project=lab.project, by=person),
        lambda: plans.propose_repair(by=person),
        lambda: plans.propose_undo(plan=plan, by=person),
        lambda: plans.commit_plan(plan=plan, by=person, generation=0),
    ]:
        with pytest.raises(NotAllowed):
            attempt()

    assert Plan.objects.count() == 1
    assert Move.objects.count() == 0


# --- committing


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


# --- drift and repair


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


# --- counts


def test_what_a_project_has_is_counted_by_model(lab, machines):
    cards = machines.rack(gpus=3)
    a100 = factories.model("A100")
    machines.give(cards[:2], lab.project, factories.grant(lab.project, gpus=3))
    factories.grant(lab.project, gpus=4, model=a100)
    factories.grant(lab.project, gpus=9, starts_at=timezone.now() + HOUR)
    factories.reading(cards[0], lab.project.slug, util_pct=80.0)
    factories.assignment(cards[2], lab.project)

    assert [tuple(row) for row in queries.project_gpus(lab.project)] == [("A100", 4, 0, 0, 0), ("H100", 3, 3, 2, 1)]


@pytest.mark.parametrize("racks", [1, 3])
def test_planning_and_committing_take_the_same_number_of_queries_for_any_fleet(
    lab, machines, racks, django_assert_num_queries
):
    donors = [machines.rack(gpus=2) for _ in range(racks)]
    for cards in donors:
        donor = winding_down(lead=lab.applied_lead)
        machines.give(cards, donor, factories.grant(donor, gpus=2))
    grant = factories.grant(lab.project, gpus=2 * racks)

    with django_assert_num_queries(8):
        snapshot = queries.build_snapshot()
    with django_assert_num_queries(19):
        plan = plans.propose_plan(grant=grant, by=lab.ops)
    with django_assert_num_queries(31):
        commit(plan, lab.ops)
    with django_assert_num_queries(1):
        drifting = list(queries.drift())

    assert (len(snapshot.units), plan.moves.count(), drifting) == (2 * racks, 2 * racks, [])
