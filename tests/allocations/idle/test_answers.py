"""Keep, because ..., until ...: who may say it, for how long, and what it does."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import idle, queries
from allocations.errors import BadTerms, NotAllowed, WrongState
from allocations.models import IdleCase
from tests.allocations.acts import verbs
from tests.allocations.idle.judged import MINUTE, held, judge

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
WHY = "The loader is being mended; the run goes on tomorrow."


@pytest.fixture
def case(lab):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug, since=timezone.now() - 61 * MINUTE)
    idle.tend()
    return IdleCase.objects.get()


def keep(case, by, **changes):
    return idle.keep(case=case, by=by, **{"reason": WHY, "until": timezone.now() + DAY, **changes})


@pytest.mark.parametrize("login", ["lead", "pitcher", "team-mate"])
def test_whoever_works_in_the_project_keeps_them(lab, case, login):
    keep(case, lab.everyone[login])

    row = IdleCase.objects.get()
    assert (row.state, row.kept_by.username, row.kept_reason) == ("kept", login, WHY)
    assert verbs(row) == ["idle.warned", "idle.kept"]


@pytest.mark.parametrize("login", ["stranger", "ops", "ceo", "chief-scientist", "auditor", "admin", "applied-lead"])
def test_nobody_else_does(lab, case, login):
    with pytest.raises(NotAllowed):
        keep(case, lab.everyone[login])

    assert IdleCase.objects.get().state == "warned"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"reason": "  "}, "reason"),
        ({"until": timezone.now() - DAY}, "until"),
        ({"until": timezone.now() + 15 * DAY}, "until"),
    ],
)
def test_a_reason_and_a_day_that_is_near_are_needed(lab, case, changes, field):
    with pytest.raises(BadTerms) as refused:
        keep(case, lab.lead, **changes)

    assert refused.value.facts["field"] == field


def test_nobody_keeps_beyond_the_end_of_the_grant(lab, case):
    type(case.grant).objects.update(ends_at=timezone.now() + DAY)
    case.refresh_from_db()

    with pytest.raises(BadTerms):
        keep(case, lab.lead, until=timezone.now() + 2 * DAY)


def test_the_same_answer_twice_is_one(lab, case):
    until = timezone.now() + DAY
    keep(case, lab.lead, until=until)

    keep(case, lab.lead, until=until)

    assert verbs(case) == ["idle.warned", "idle.kept"]


def test_a_case_that_is_over_takes_no_answer(lab, case):
    IdleCase.objects.advance(case, "ended", ended_at=timezone.now(), ended_why="active")

    with pytest.raises(WrongState):
        keep(case, lab.lead)


def test_a_kept_one_waits_for_nobody_and_is_asked_about_again_after_its_day(lab, case, time_machine):
    keep(case, lab.lead, until=timezone.now() + DAY)
    waiting = list(queries.cases_to_answer(lab.lead))

    time_machine.move_to(timezone.now() + DAY + MINUTE)
    idle.tend()
    over = list(IdleCase.objects.values_list("state", flat=True))
    time_machine.move_to(timezone.now() + 60 * MINUTE)
    idle.tend()

    assert (waiting, over) == ([], ["ended"])
    assert list(IdleCase.objects.order_by("pk").values_list("state", "ended_why")) == [
        ("ended", "kept_over"),
        ("warned", ""),
    ]


def test_a_case_shows_to_its_people_and_to_those_who_see_all(lab, case):
    seers = [login for login, person in lab.everyone.items() if queries.cases_visible_to(person).exists()]

    assert sorted(seers) == [
        "auditor", "ceo", "chief-scientist", "lead", "ops", "pitcher", "research-head", "team-mate",
    ]  # fmt: skip


class TestPhases:
    def declare(self, project, by, **changes):
        now = timezone.now()
        values = {"starts_at": now, "ends_at": now + DAY, "reason": "A demo waits for its hour."}
        return idle.declare_phase(project=project, by=by, **values | changes)

    @pytest.mark.parametrize("login", ["lead", "ops"])
    def test_the_lead_or_ops_declare_one_and_end_it(self, lab, login):
        phase = self.declare(lab.project, lab.everyone[login])
        during = list(queries.phases_of(lab.project))

        idle.end_phase(phase=phase, by=lab.everyone[login])

        assert (during, list(queries.phases_of(lab.project))) == ([phase], [])

    @pytest.mark.parametrize("login", ["pitcher", "stranger", "ceo", "auditor", "applied-lead"])
    def test_nobody_else_does(self, lab, login):
        with pytest.raises(NotAllowed):
            self.declare(lab.project, lab.everyone[login])

    @pytest.mark.parametrize(
        "changes",
        [{"reason": ""}, {"ends_at": timezone.now() - DAY}, {"ends_at": timezone.now() + 20 * DAY}],
    )
    def test_it_has_a_reason_and_a_near_end(self, lab, changes):
        with pytest.raises(BadTerms):
            self.declare(lab.project, lab.lead, **changes)

    def test_one_that_had_not_begun_never_was(self, lab):
        now = timezone.now()
        phase = self.declare(lab.project, lab.lead, starts_at=now + DAY, ends_at=now + 2 * DAY)

        idle.end_phase(phase=phase, by=lab.lead)

        assert list(queries.phases_of(lab.project)) == []
