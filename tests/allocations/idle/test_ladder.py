"""The ladder: asked once, asked again, shown to ops; over when the GPUs work, and never a hand on them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import idle
from allocations.models import Assignment, IdleCase, IdlePhase, IdlePolicy, Notice, OutboxMessage
from tests import factories
from tests.allocations.acts import told, verbs
from tests.allocations.idle.judged import MINUTE, held, judge
from tests.races import Window, at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def now(time_machine):
    """A moment that a test moves on."""
    start = timezone.now().replace(hour=12, minute=0, second=0, microsecond=0)
    time_machine.move_to(start, tick=False)
    return start


@pytest.fixture
def later(time_machine, now):
    def move(minutes: float) -> None:
        time_machine.move_to(now + minutes * MINUTE, tick=False)
        idle.tend()

    return move


def cases() -> list[tuple[str, int, str]]:
    return list(IdleCase.objects.order_by("pk").values_list("state", "gpus", "ended_why"))


def deliver() -> None:
    OutboxMessage.objects.update(sent_at=timezone.now())


def test_gpus_that_stay_idle_are_asked_about_twice_and_then_shown_to_ops(lab, later):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug)

    states = []
    for minutes in (59, 60, 104, 105, 119, 120, 600):
        later(minutes)
        deliver()
        states.append([state for state, _gpus, _why in cases()])

    assert states == [[], ["warned"], ["warned"], ["again"], ["again"], ["desk"], ["desk"]]
    assert verbs(IdleCase.objects.get()) == ["idle.warned", "idle.asked_again", "idle.on_desk"]
    assert (told("idle.warned"), told("idle.asked_again"), told("idle.on_desk")) == (["lead"], ["lead"], [])


def test_nothing_is_taken_by_the_clock(lab, later):
    grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug)

    for minutes in (60, 105, 120, 10_000):
        later(minutes)
        deliver()

    grant.refresh_from_db()
    assert grant.ended_at is None
    assert Assignment.objects.filter(during__endswith=None).count() == 2


def test_the_notice_carries_the_readings_of_each_gpu(lab, later):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug, coverage_pct=97.0)

    later(60)

    notice = Notice.objects.get()
    assert [unit.uuid in notice.body for unit in units] == [True, True]
    assert "highest use 0.0 %, 97 % of the readings there" in notice.body
    assert notice.path == f"/idle/{IdleCase.objects.get().public_id}/"


def test_a_warning_that_did_not_leave_is_none(lab, later):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug)
    later(60)
    later(105)

    later(300)
    waiting = cases()
    Notice.objects.filter(event__verb="idle.warned").update(read_at=timezone.now())
    later(301)

    assert ([row[0] for row in waiting], [row[0] for row in cases()]) == (["again"], ["desk"])


def test_a_late_clock_leaves_the_time_between_the_notices(lab, later):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug)

    states = []
    for minutes in (500, 501, 545):
        later(minutes)
        deliver()
        states.append(cases()[0][0])

    assert states == ["warned", "warned", "again"]


def test_one_gpu_that_works_again_leaves_the_case_to_the_other(lab, later):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug)
    later(60)

    judge(units[:1], "active", holder=lab.project.slug)
    later(61)

    assert cases() == [("warned", 1, "")]
    assert [row["gpu"] for row in IdleCase.objects.get().evidence] == [units[1].uuid]


@pytest.mark.parametrize("state", ["active", "low"])
def test_a_case_is_over_when_no_gpu_is_idle_any_more(lab, later, state):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug)
    later(60)

    judge(units, state, holder=lab.project.slug)
    later(61)

    assert cases() == [("ended", 2, "active")]


def test_unknown_is_not_active_and_climbs_no_further(lab, later):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug)
    later(60)

    judge(units, "unknown", holder=lab.project.slug)
    later(200)

    assert cases() == [("warned", 2, "")]


def test_idle_anew_after_work_or_a_gap_begins_from_the_start(lab, later):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug)
    later(60)

    judge(units, "held_idle", holder=lab.project.slug, since=timezone.now() + 10 * MINUTE)
    later(75)
    later(140)

    assert cases() == [("ended", 2, "active"), ("warned", 2, "")]


def test_the_gpus_of_one_grant_make_one_case(lab, later):
    _grant, units = held(lab.project, gpus=24)
    judge(units, "held_idle", holder=lab.project.slug)

    later(60)

    assert (cases(), Notice.objects.count()) == ([("warned", 24, "")], 1)


@pytest.mark.parametrize("state", ["empty", "low", "active", "ghost", "hung", "unknown"])
def test_only_held_idle_is_asked_about(lab, later, state):
    _grant, units = held(lab.project)
    judge(units, state, holder=lab.project.slug)

    later(600)

    assert cases() == []


def test_what_somebody_else_holds_is_not_this_projects_to_answer_for(lab, later):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder="assistant")

    later(600)

    assert cases() == []


def test_a_notebook_is_not_asked_about_in_its_first_hours(lab, later, now):
    grant, units = held(lab.project, gpus=1)
    type(grant).objects.update(starts_at=now - timedelta(hours=7))
    judge(units, "held_idle", holder=lab.project.slug, since=now - timedelta(hours=7))

    later(119)
    before = cases()
    later(120)

    assert (before, cases()) == ([], [("warned", 1, "")])


def test_a_quiet_phase_asks_nobody_and_the_clock_begins_at_its_end(lab, later, now):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug)
    IdlePhase.objects.create(
        project=lab.project, starts_at=now, ends_at=now + 90 * MINUTE, reason="A checkpoint of 4 TB.",
        declared_by=lab.lead, declared_at=now,
    )  # fmt: skip

    later(149)
    before = cases()
    later(150)

    assert (before, cases()) == ([], [("warned", 2, "")])


def test_the_policy_nearest_to_the_project_holds(lab, later):
    serving = factories.project("serving", division=lab.research)
    for project in (lab.project, serving, lab.applied_project):
        _grant, units = held(project)
        judge(units, "held_idle", holder=project.slug)
    policy = {"warn_after_min": 10, "again_after_min": 20, "desk_after_min": 30}
    IdlePolicy.objects.create(**policy)
    IdlePolicy.objects.create(division=lab.research, **policy | {"warn_after_min": 20})
    IdlePolicy.objects.create(project=serving, is_on=False, **policy)

    asked = []
    for minutes in (10, 20, 500):
        later(minutes)
        asked.append(sorted(IdleCase.objects.values_list("grant__project__slug", flat=True)))

    assert asked == [["assistant"], ["assistant", "protein-folding"], ["assistant", "protein-folding"]]


def test_a_grant_that_lost_its_gpus_has_no_case(lab, later):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug)
    later(60)

    Assignment.objects.all().delete()
    later(61)

    assert cases() == [("ended", 2, "gone")]


def test_a_tick_asks_the_database_as_often_for_many_idle_grants_as_for_one(
    lab, now, time_machine, django_assert_num_queries
):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug)
    with django_assert_num_queries(6):
        idle.tend()

    for number in range(3):
        project = factories.project(f"more-{number}", division=lab.research)
        _grant, units = held(project)
        judge(units, "held_idle", holder=project.slug)

    with django_assert_num_queries(6):
        idle.tend()


def test_nobody_is_asked_about_what_an_ended_grant_left_behind(lab, later, now):
    grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug)
    later(60)

    type(grant).objects.update(ends_at=now + 61 * MINUTE)
    later(62)
    later(600)

    assert cases() == [("ended", 2, "gone")]


@pytest.mark.django_db(transaction=True)
def test_two_clocks_at_once_ask_once(lab, monkeypatch):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug, since=timezone.now() - 61 * MINUTE)
    window = Window()
    monkeypatch.setattr("allocations.idle.ladder.lock_row", window.before(idle.ladder.lock_row))

    outcomes = at_once(idle.tend, idle.tend)

    assert (outcomes, cases(), Notice.objects.count()) == ([None, None], [("warned", 2, "")], 1)
