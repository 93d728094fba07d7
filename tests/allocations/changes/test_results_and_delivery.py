"""What came of a grant is asked once; a length that counts from delivery moves the end by as much as it was late."""

from datetime import date, timedelta

import pytest

from allocations import changes, queries, results
from allocations.errors import BadTerms, NotAllowed, WrongState
from allocations.models import Grant, Pitch, ResultCheck
from tests import factories
from tests.allocations.acts import told, verbs

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

DAY = timedelta(days=1)


def fresh(row):
    return type(row).objects.get(pk=row.pk)


class TestResults:
    @pytest.fixture
    def asked(self, world, grant, noon, time_machine):
        Pitch.objects.update(check_on=date(2027, 3, 10), expected_result="1,000 residues")
        results.tend()
        assert ResultCheck.objects.count() == 0
        time_machine.move_to(noon + 9 * DAY, tick=False)
        results.tend()
        results.tend()
        return ResultCheck.objects.get()

    def test_it_is_asked_once_on_its_day(self, asked):
        assert told("result.asked") == ["lead", "pitcher"]

    def test_the_answer_is_the_project_s_record(self, world, asked):
        assert queries.results_due([world.project]) == {world.project.pk: 1}
        with pytest.raises(BadTerms):
            results.answer_result(check=asked, by=world.lead, outcome="met", said="")
        results.answer_result(check=asked, by=world.pitcher, outcome="partly", said="700 of 1,000.")
        results.answer_result(check=asked, by=world.pitcher, outcome="partly", said="700 of 1,000.")

        [check] = queries.results_of([world.project])[world.project.pk]
        assert (check.outcome, check.said, check.answered_by) == ("partly", "700 of 1,000.", world.pitcher)
        assert queries.results_due([world.project]) == {}
        with pytest.raises(WrongState):
            results.answer_result(check=asked, by=world.lead, outcome="met", said="All of it.")

    @pytest.mark.parametrize("login", ["team-mate", "chief-scientist", "ops", "admin"])
    def test_nobody_else_answers(self, world, asked, login):
        with pytest.raises(NotAllowed):
            results.answer_result(check=asked, by=world.everyone[login], outcome="met", said="Yes.")

    def test_any_number_of_projects_is_one_query(self, world, asked, django_assert_num_queries):
        results.answer_result(check=asked, by=world.lead, outcome="met", said="Yes.")
        with django_assert_num_queries(1):
            queries.results_of([world.project, world.applied_project])


class TestDelivery:
    def hold(self, grant, count, at):
        for card in factories.fleet(gpus=count):
            factories.holding(card, grant.project, grant=grant, since=at)

    def late(self, grant, noon):
        """8 of the 32, the least that helps, come three days late."""
        Pitch.objects.update(min_gpus=8)
        Grant.objects.update(counts_from="delivery")
        self.hold(grant, 7, noon + DAY)
        self.hold(grant, 1, noon + 3 * DAY)

    def test_the_end_moves_by_as_much_as_the_minimum_was_late(self, grant, noon, time_machine):
        """gravitational/teleport#50011: a 14-day grant lasts 14 days."""
        self.late(grant, noon)
        time_machine.move_to(noon + 3 * DAY + timedelta(hours=1), tick=False)
        changes.tend()
        changes.tend()

        assert (fresh(grant).delivered_at, fresh(grant).ends_at) == (noon + 3 * DAY, noon + 17 * DAY)
        assert verbs(grant) == ["grant.delivered"]

    def test_it_stays_where_the_time_after_it_is_promised_and_people_hear(self, world, grant, noon, time_machine):
        self.late(grant, noon)
        factories.grant(world.project, gpus=40, starts_at=noon + 15 * DAY, ends_at=noon + 20 * DAY)
        time_machine.move_to(noon + 4 * DAY, tick=False)
        changes.tend()

        assert fresh(grant).ends_at == noon + 14 * DAY
        assert told("grant.delivered") == ["lead"]

    def test_one_that_counts_from_its_start_keeps_its_end(self, grant, noon, time_machine):
        self.late(grant, noon)
        Grant.objects.update(counts_from="start")
        time_machine.move_to(noon + 4 * DAY, tick=False)
        changes.tend()

        assert (fresh(grant).delivered_at, fresh(grant).ends_at) == (None, noon + 14 * DAY)

    def test_late_gpu_days_are_what_was_promised_and_not_held(self, grant, noon, django_assert_num_queries):
        self.late(grant, noon)

        with django_assert_num_queries(2):
            late = queries.late_gpu_days([grant], at=noon + 4 * DAY)

        # A day of 32, two of 25, one of 24.
        assert late[grant.pk] == pytest.approx(32 + 2 * 25 + 24)
