"""What a GPU does, by its newest reading and what is intended; who could give; how far moves are."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import plans, queries
from allocations.models import Move, Plan
from allocations.queries import donors, fleet, lanes
from allocations.queries.fleet import Doing
from allocations.queries.standing import standings_of
from tests import factories


@pytest.fixture
def gpu(db):
    return factories.fleet(gpus=1)[0]


@pytest.fixture
def project(db):
    return factories.project("protein-folding")


def _doing() -> list[str]:
    return list(fleet.fleet_units().values_list("doing", flat=True))


def test_a_gpu_never_read_is_unknown(gpu):
    assert _doing() == [Doing.UNKNOWN]


def test_a_stale_reading_makes_it_unknown_whatever_it_said(gpu):
    factories.reading(gpu, "", requested_at=timezone.now() - timedelta(minutes=5))

    assert _doing() == [Doing.UNKNOWN]


def test_an_unknown_holder_is_unknown_and_no_use_of_a_held_one_is_too(gpu, project):
    factories.reading(gpu, None)
    first = _doing()
    factories.reading(gpu, project.slug, util_pct=None)

    assert first + _doing() == [Doing.UNKNOWN, Doing.UNKNOWN]


def test_free_is_unassigned_and_empty(gpu, project):
    factories.reading(gpu, "")
    free = _doing()
    factories.reading(gpu, "", running=1)
    ghost = _doing()
    factories.reading(gpu, "")
    factories.assignment(gpu, project)

    assert free + ghost + _doing() == [Doing.FREE, Doing.GHOST, Doing.ASSIGNED]


@pytest.mark.parametrize(
    ("util_pct", "doing"), [(0.0, Doing.IDLE), (4.9, Doing.IDLE), (5.0, Doing.ACTIVE), (100.0, Doing.ACTIVE)]
)
def test_a_held_one_is_active_from_five_percent_on(gpu, project, util_pct, doing):
    factories.reading(gpu, project.slug, util_pct=util_pct)

    assert _doing() == [doing]


@pytest.mark.parametrize(
    ("state", "util_pct", "doing"),
    [
        ("active", 0.0, Doing.ACTIVE),
        ("held_idle", 90.0, Doing.IDLE),
        ("empty", 0.0, Doing.IDLE),
        ("low", 90.0, Doing.LOW),
        ("hung", 100.0, Doing.HUNG),
        ("ghost", 100.0, Doing.GHOST),
        ("unknown", 90.0, Doing.ACTIVE),
    ],
)
def test_how_a_held_one_is_used_goes_by_the_judgement_where_there_is_one(gpu, project, state, util_pct, doing):
    factories.reading(gpu, project.slug, util_pct=util_pct)
    verdict = factories.activity(gpu, state)

    judged = _doing()
    verdict.judged_at -= timedelta(minutes=4)
    verdict.save()

    assert judged == [doing]
    assert _doing() == [Doing.ACTIVE if util_pct >= 5 else Doing.IDLE]


def test_a_video_job_is_active_on_every_page(lab, gpu):
    factories.reading(gpu, lab.project.slug, util_pct=0.0, engine_pct=60.0)
    factories.holding(gpu, lab.project)

    assert _doing() == [Doing.ACTIVE]
    assert [row.used for row in queries.project_gpus(lab.project)] == [1]
    assert [row.used for row in standings_of([lab.project])[lab.project.pk]] == [1]


@pytest.mark.parametrize(("util_pct", "used"), [(4.9, 0), (5.0, 1)])
def test_one_line_parts_use_from_rest_wherever_it_is_counted(lab, gpu, util_pct, used):
    factories.reading(gpu, lab.project.slug, util_pct=util_pct)
    factories.holding(gpu, lab.project)

    assert [row.used for row in queries.project_gpus(lab.project)] == [used]
    assert [row.used for row in standings_of([lab.project])[lab.project.pk]] == [used]


def test_what_drains_shows_it_by_its_reading_and_by_its_move(lab):
    mine, theirs = factories.fleet(gpus=2)
    for one in (mine, theirs):
        factories.reading(one, lab.project.slug, util_pct=90.0)
    factories.reading(mine, lab.project.slug, util_pct=90.0, draining=True)
    plan = _plan(lab)
    Move.objects.create(
        plan=plan, gpu=theirs, generation=1, state=Move.State.DRAINING, proposed_at=timezone.now(), project=None
    )

    assert _doing() == [Doing.DRAINING, Doing.DRAINING]


def test_lost_goes_before_cordoned_and_cordoned_before_everything_else(gpu, project):
    factories.reading(gpu, project.slug, util_pct=90.0)
    factories.cordon(gpu.node)
    cordoned = _doing()
    gpu.lost_at = timezone.now()
    gpu.save()

    assert cordoned + _doing() == [Doing.CORDONED, Doing.LOST]


def test_a_cordon_that_is_over_or_to_come_cordons_nothing(gpu):
    factories.reading(gpu, "")
    now = timezone.now()
    factories.cordon(gpu.node, until=now - timedelta(hours=1))
    factories.cordon(gpu.node, since=now + timedelta(hours=1))

    assert _doing() == [Doing.FREE]


def test_one_gpu_is_one_tile_whatever_its_past(lab, gpu):
    now = timezone.now()
    factories.assignment(gpu, lab.applied_project, since=now - timedelta(days=9), until=now - timedelta(days=5))
    factories.assignment(gpu, lab.project, since=now - timedelta(days=5))
    plan = _plan(lab)
    for generation in (1, 2):
        Move.objects.create(
            plan=plan, gpu=gpu, generation=generation, state=Move.State.FAILED, proposed_at=now, failed_at=now
        )

    assert list(fleet.fleet_units().values_list("assigned_to", flat=True)) == [lab.project.slug]


def test_a_card_cut_into_instances_is_shown_by_these(gpu):
    factories.gpu(gpu.node, parent=gpu)

    assert list(fleet.fleet_units()) == [gpu.instances.get()]


def test_counts_add_up_to_the_fleet(lab):
    """opencost/opencost#1124."""
    gpus = factories.fleet(gpus=5)
    for one in gpus[:3]:
        factories.reading(one, "")
    factories.reading(gpus[3], lab.project.slug, util_pct=80.0)

    assert fleet.doing_counts() == {"unknown": 1, "free": 3, "active": 1}


def test_filters_find_what_a_project_holds_and_what_it_shall_hold(lab):
    holds, shall, other = factories.fleet(gpus=3)
    factories.reading(holds, lab.project.slug)
    factories.reading(shall, "")
    factories.assignment(shall, lab.project)
    factories.reading(other, "")

    found = fleet.narrowed(fleet.fleet_units(), {"project": lab.project.slug, "doing": ""})

    assert {one.pk for one in found} == {holds.pk, shall.pk}


def test_donors_are_free_then_ended_then_winding_down_with_their_evidence(lab):
    ended, winding = factories.project("ended-one"), factories.project("winding-one")
    releases_at = timezone.now() + timedelta(days=1)
    ended.state, ended.ended_at = "ended", timezone.now()
    winding.state, winding.releases_at = "winding_down", releases_at
    ended.save(), winding.save()
    free, old, soon, held = factories.fleet(gpus=4)
    factories.reading(free, "")
    for one, owner in ((old, ended), (soon, winding), (held, lab.project)):
        factories.assignment(one, owner)
        factories.reading(one, owner.slug, running=0 if owner is winding else 2)

    supply = donors.supply(queries.build_snapshot())

    found = [(donor.source, donor.holder, donor.gpus, donor.running_gpus, donor.releases_at) for donor in supply.donors]
    assert found == [
        ("free", "", 1, 0, None), ("ended", "ended-one", 1, 1, None), ("winding_down", "winding-one", 1, 0, releases_at)
    ]  # fmt: skip
    assert supply.left == {"H100": {"held": 1}}


def test_lanes_group_what_goes_the_same_way_and_forget_what_was_mended(lab):
    gpus = factories.fleet(gpus=6)
    for one in gpus:
        factories.reading(one, "")
    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=6), by=lab.ops)
    plans.commit_plan(plan=plan, by=lab.ops, generation=0)
    now = timezone.now()
    ids = list(Move.objects.order_by("pk").values_list("pk", flat=True))
    Move.objects.filter(pk__in=ids[:2]).update(state="draining", draining_at=now, running=3)
    Move.objects.filter(pk=ids[2]).update(state="draining", draining_at=now, fault="node_unreachable")
    Move.objects.filter(pk=ids[3]).update(state="failed", failed_at=now, fault="node_refused")
    Move.objects.filter(pk=ids[4]).update(
        state="done", draining_at=now, switched_at=now, done_at=now - timedelta(hours=2)
    )

    found = {(group.state, group.fault, group.gpus, group.running) for group in lanes.lanes()}
    whole = {(group.state, group.gpus) for group in lanes.lanes(plan=plan)}

    assert found == {
        ("proposed", "", 1, 0), ("draining", "", 2, 6), ("draining", "node_unreachable", 1, 0),
        ("failed", "node_refused", 1, 0),
    }  # fmt: skip
    assert whole == {("proposed", 1), ("draining", 2), ("draining", 1), ("failed", 1), ("done", 1)}


def test_a_failed_move_leaves_the_lanes_with_the_next_move_of_its_gpu(lab):
    gpu = factories.fleet(gpus=1)[0]
    plan, now = _plan(lab), timezone.now()
    Move.objects.create(plan=plan, gpu=gpu, generation=1, state="failed", proposed_at=now, failed_at=now)
    before = [group.state for group in lanes.lanes()]
    Move.objects.create(plan=plan, gpu=gpu, generation=2, proposed_at=now)

    assert before + [group.state for group in lanes.lanes()] == ["failed", "proposed"]


def test_plans_tell_their_outcome_in_one_query(lab, django_assert_num_queries):
    for one in factories.fleet(gpus=3):
        factories.reading(one, "")
    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=3), by=lab.ops)
    plans.commit_plan(plan=plan, by=lab.ops, generation=0)

    with django_assert_num_queries(1):
        row = lanes.plans_with_outcome().get(pk=plan.pk)

    assert (row.moving_gpus, row.open_gpus, row.done_gpus, row.failed_gpus, row.undone) == (3, 3, 0, 0, False)


def test_winding_donors_come_by_their_promised_day(lab):
    for slug, days in (("late", 9), ("soon", 2)):
        owner = factories.project(slug, state="winding_down", releases_at=timezone.now() + timedelta(days=days))
        for one in factories.fleet(gpus=days):
            factories.assignment(one, owner)
            factories.reading(one, owner.slug)

    supply = donors.supply(queries.build_snapshot())

    assert [(donor.holder, donor.gpus) for donor in supply.donors] == [("soon", 2), ("late", 9)]


def test_lanes_name_the_projects_and_a_strange_holder_by_its_own_word(lab):
    gpus, plan, now = factories.fleet(gpus=3), _plan(lab), timezone.now()
    for one, holder, to in zip(gpus, (lab.project.slug, "stranger", ""), (None, lab.project, lab.project), strict=True):
        Move.objects.create(plan=plan, gpu=one, generation=1, from_holder=holder, project=to, proposed_at=now)

    found = {(group.from_name, group.to_name) for group in lanes.lanes()}

    assert found == {(lab.project.name, ""), ("stranger", lab.project.name), ("", lab.project.name)}


def test_a_proposal_leaves_the_desk_once_a_commit_has_overtaken_it(lab):
    for one in factories.fleet(gpus=8):
        factories.reading(one, "")
    first, second = (factories.grant(lab.project, gpus=2) for _ in range(2))
    kept, twin, taken = (plans.propose_plan(grant=grant, by=lab.ops) for grant in (second, first, first))
    before = list(lanes.proposals())

    plans.commit_plan(plan=taken, by=lab.ops, generation=0)
    overtaken = list(lanes.proposals())
    again = plans.propose_plan(grant=second, by=lab.ops)

    assert before == [taken, twin, kept]
    assert overtaken == []  # the planner had named the same free GPUs for both needs
    assert list(lanes.proposals()) == [again]


def test_a_proposal_of_other_gpus_stays_and_one_whose_need_was_met_goes(lab):
    h100, h200 = factories.fleet(gpus=2), factories.fleet(factories.model("H200"), gpus=2)
    for one in (*h100, *h200):
        factories.reading(one, "")
    mine = factories.grant(lab.project, gpus=2)
    other = factories.grant(lab.project, gpus=2, model=h200[0].model)
    stays, goes = plans.propose_plan(grant=other, by=lab.ops), _plan(lab)
    Plan.objects.filter(pk=goes.pk).update(purpose="need", grant=mine)  # on GPUs that nobody touches

    plans.commit_plan(plan=plans.propose_plan(grant=mine, by=lab.ops), by=lab.ops, generation=0)

    assert list(lanes.proposals()) == [stays]


def _plan(lab) -> Plan:
    return Plan.objects.create(purpose="release", base_generation=0, proposed_by=lab.ops, proposed_at=timezone.now())
