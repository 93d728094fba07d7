"""A split's preview names pitches that could begin earlier, later or not, and the grants that clear a debt."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from allocations import queries, splits
from allocations.errors import BadTerms
from allocations.models import SplitWeight
from tests import factories
from tests.allocations.acts import submit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

DAY = timedelta(days=1)


def march(day):
    return datetime(2027, 3, day, tzinfo=UTC)


def preview(world, research, *, person=None, day=5):
    percents = {"": {"research": Decimal(research), "applied": Decimal(100 - research)}}
    return queries.preview_for(percents, starts_at=march(day), person=person or world.ceo)


class TestDebt:
    """kueue#5176: a split cut from 64 to 32 with 50 held is "18 over" with a plan, never a negative number."""

    @pytest.fixture(autouse=True)
    def held(self, world, noon):
        factories.grant(world.project, gpus=30, starts_at=noon, ends_at=march(20))
        factories.grant(world.project, gpus=20, starts_at=noon, ends_at=march(12))
        factories.grant(world.applied_project, gpus=4, starts_at=noon, ends_at=march(9))

    def test_the_plan_names_the_grants_that_end_until_it_is_cleared(self, world):
        [plan] = preview(world, 32).plans

        assert (plan.division, plan.debt_gpus, plan.cleared_at) == (world.research, 18, march(12))
        assert [grant.gpus for grant in plan.endings] == [20]

    def test_a_debt_that_only_the_last_end_clears_names_all(self, world):
        [plan] = preview(world, 10).plans

        assert (plan.debt_gpus, plan.cleared_at, [grant.gpus for grant in plan.endings]) == (40, march(20), [20, 30])

    def test_names_that_somebody_may_not_see_are_counted(self, world):
        [plan] = preview(world, 10, person=world.stranger).plans

        assert (list(plan.endings), plan.others) == ([], 2)

    def test_nobody_over_is_no_plan(self, world):
        assert preview(world, 60).plans == []

    def test_a_debt_that_stands_has_its_plan_too(self, world, noon):
        factories.split({"": {"research": 32, "applied": 68}}, starts_at=noon - DAY)
        [plan] = queries.debts_of(queries.capacities_of(at=noon), at=noon, person=world.ceo)

        assert (plan.debt_gpus, plan.begins_at, plan.cleared_at) == (18, None, march(12))

    def test_one_that_is_to_come_says_from_when_on(self, world, noon):
        factories.split({"": {"research": 32, "applied": 68}}, starts_at=march(7))
        [plan] = queries.debts_of(queries.capacities_of(at=noon), at=noon, person=world.ceo)

        assert (plan.debt_gpus, plan.begins_at, plan.cleared_at) == (18, march(7), march(12))


class TestPitches:
    def shifts(self, world, research, **more):
        return {(shift.pitch.title, shift.kind) for shift in preview(world, research, **more).shifts}

    def test_earlier_later_and_not_at_all(self, world, noon):
        factories.grant(world.project, gpus=50, starts_at=noon, ends_at=march(20))
        factories.submitted(world.project, world.pitcher, title="small", gpus=20, start_on=date(2027, 3, 6))
        factories.submitted(world.project, world.pitcher, title="large", gpus=45, start_on=date(2027, 3, 6))

        assert self.shifts(world, 80) == {("small", "earlier")}
        assert self.shifts(world, 40) == {("large", "never")}

    def test_later(self, world, noon):
        factories.grant(world.project, gpus=30, starts_at=noon, ends_at=march(20))
        factories.submitted(world.project, world.pitcher, title="small", gpus=20, start_on=date(2027, 3, 6))

        assert self.shifts(world, 40) == {("small", "later")}

    def test_pitches_that_somebody_may_not_see_are_not_named(self, world, noon):
        factories.grant(world.project, gpus=30, starts_at=noon, ends_at=march(20))
        factories.submitted(world.project, world.pitcher, gpus=20, start_on=date(2027, 3, 6))

        assert self.shifts(world, 40, person=world.stranger) == set()

    @pytest.mark.parametrize("count", [1, 3])
    def test_it_takes_the_same_queries_for_any_number(self, world, noon, django_assert_max_num_queries, count):
        for _number in range(count):
            factories.grant(world.project, gpus=10, starts_at=noon, ends_at=march(20))
            factories.submitted(world.project, world.pitcher, gpus=55, start_on=date(2027, 3, 6))
        preview(world, 5)
        with django_assert_max_num_queries(16):
            preview(world, 5)


class TestWeights:
    PERCENTS = {"": {"research": Decimal(60), "applied": Decimal(40)}}

    def test_they_are_signed_with_the_split(self, world, noon):
        split = splits.propose_split(
            by=world.ceo, starts_at=noon, percents=self.PERCENTS, weights={"H100": Decimal("2.5")}
        )

        assert list(SplitWeight.objects.values_list("split", "model__name", "weight")) == [
            (split.pk, "H100", Decimal("2.500"))
        ]

    @pytest.mark.parametrize("weights", [{"H100": Decimal(0)}, {"TPU": Decimal(1)}, {"H100": Decimal(1000)}])
    def test_a_weight_is_a_positive_number_of_a_model_that_is_there(self, world, noon, weights):
        with pytest.raises(BadTerms):
            splits.propose_split(by=world.ceo, starts_at=noon, percents=self.PERCENTS, weights=weights)


def test_one_that_takes_effect_by_itself_on_its_day_needs_nobody(world, noon, time_machine):
    factories.split({"": {"research": 30, "applied": 70}}, starts_at=march(10))
    time_machine.move_to(march(10), tick=False)

    assert queries.capacity_of(factories.model(), at=march(10)).divisions["research"].share.at(march(10)) == 30
    submit(world, gpus=30)
