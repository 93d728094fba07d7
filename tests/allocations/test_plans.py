"""Needs and the plans proposed for them: what is taken, what is left and why."""

import pytest
from django.utils import timezone

from allocations import plans, queries
from allocations.errors import NotAllowed, NothingToPlan
from allocations.models import Assignment, Grant, Move, OutboxMessage, Plan, PlanStep, Project
from allocations.queries.standing import standings_of, with_gpus
from inventory.models import Event, Gpu, Node, Reading
from tests import factories
from tests.allocations.machines import HOUR, assigned, commit, committed, ended_grant, readings_age, winding_down


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
    """truenas/middleware PR#19499."""
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
    """beclab/Olares PR#4051: the cards of a dead node are not offered."""
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
    # Nobody has to give anything; that the GPUs are there is all there is to say.
    assert [message.event.verb for message in OutboxMessage.objects.select_related("event")] == ["grant.complete"]


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


@pytest.mark.parametrize("what", [Gpu, Node])
def test_a_card_that_is_no_more_is_missing_everywhere_alike(lab, machines, what):
    cards = [*machines.rack(gpus=1), *machines.rack(gpus=1)]
    grant = factories.grant(lab.project, gpus=2)
    machines.give(cards, lab.project, grant)
    what.objects.filter(pk=cards[0].pk if what is Gpu else cards[0].node_id).update(retired_at=timezone.now())

    row = with_gpus(Grant.objects.all()).get()
    [standing] = standings_of([lab.project])[lab.project.pk]
    [counted] = queries.project_gpus(lab.project)

    assert queries.needs().get().missing_gpus == 1
    assert (row.assigned_gpus, row.held_gpus) == (1, 1)
    assert (standing.promised, standing.assigned, standing.held) == (2, 1, 1)
    assert (counted.promised, counted.assigned, counted.held) == (2, 1, 1)


@pytest.mark.parametrize("racks", [1, 3])
def test_planning_and_committing_take_the_same_number_of_queries_for_any_fleet(
    lab, machines, racks, django_assert_num_queries
):
    donors = [machines.rack(gpus=2) for _ in range(racks)]
    for cards in donors:
        donor = winding_down(lead=lab.applied_lead)
        machines.give(cards, donor, factories.grant(donor, gpus=2))
    grant = factories.grant(lab.project, gpus=2 * racks)

    with django_assert_num_queries(10):
        snapshot = queries.build_snapshot()
    with django_assert_num_queries(22):
        plan = plans.propose_plan(grant=grant, by=lab.ops)
    with django_assert_num_queries(35):
        commit(plan, lab.ops)
    with django_assert_num_queries(1):
        drifting = list(queries.drift())

    assert (len(snapshot.units), plan.moves.count(), drifting) == (2 * racks, 2 * racks, [])
