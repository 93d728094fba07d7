"""Capacity and split from rows at every instant of an asked time: future grants, split changes, cordons, lost cards."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from allocations import grants, queries
from allocations.capacity import Booking
from allocations.errors import OverCapacity, OverShare
from allocations.models import Split
from inventory import arrivals
from inventory.models import Gpu, Node
from tests import factories
from tests.allocations.acts import submit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


def march(day, hour=0):
    return datetime(2027, 3, day, hour, tzinfo=UTC)


def ask(world, gpus, first, until, *, project=None):
    grants.require_room(
        project=project or world.project, model=factories.model(), gpus=gpus, starts_at=first, ends_at=until
    )


def refusal(world, gpus, first, until, **more):
    with pytest.raises((OverShare, OverCapacity)) as refused:
        ask(world, gpus, first, until, **more)
    return refused.value.message


class TestEachInstant:
    def test_the_share_itself_fits_and_one_more_does_not(self, world):
        ask(world, 60, march(2), march(9))

        assert refusal(world, 61, march(2), march(9)) == (
            "Research has 60 of 60 H100 left from 2 March to 8 March; the ask is for 61."
        )

    def test_a_future_grant_in_the_middle_is_seen(self, world):
        factories.grant(world.project, gpus=48, starts_at=march(5), ends_at=march(7))

        assert refusal(world, 13, march(2), march(9)) == (
            "Research has 12 of 60 H100 left from 5 March to 6 March; the ask is for 13."
        )
        ask(world, 12, march(2), march(9))
        ask(world, 60, march(2), march(5))
        ask(world, 60, march(7), march(9))

    def test_a_split_change_in_the_middle_is_seen(self, world):
        factories.split({"": {"research": 30, "applied": 70}}, starts_at=march(6))

        assert refusal(world, 31, march(2), march(9)) == (
            "Research has 30 of 30 H100 left from 6 March to 8 March; the ask is for 31."
        )
        ask(world, 60, march(2), march(6))
        ask(world, 30, march(2), march(9))

    def test_a_cordon_in_the_middle_is_seen(self, world):
        for node in Node.objects.all()[:5]:
            factories.cordon(node, since=march(4), until=march(5))

        assert refusal(world, 31, march(2), march(9)) == (
            "Research has 30 of 30 H100 left on 4 March; the ask is for 31."
        )
        ask(world, 30, march(2), march(9))
        ask(world, 60, march(5), march(9))

    def test_a_cordon_without_end_is_seen_for_ever(self, world):
        factories.cordon(Node.objects.first(), since=march(4))

        assert refusal(world, 60, march(2), march(9)) == (
            "Research has 54 of 54 H100 left from 4 March to 8 March; the ask is for 60."
        )

    def test_the_worst_stretch_is_named_when_there_are_several(self, world):
        factories.grant(world.project, gpus=30, starts_at=march(3), ends_at=march(4))
        factories.grant(world.project, gpus=40, starts_at=march(6), ends_at=march(8))

        assert refusal(world, 60, march(2), march(9)) == (
            "Research has 20 of 60 H100 left from 6 March to 7 March; the ask is for 60."
        )

    def test_a_lost_card_is_no_capacity_and_invalidates_no_grant(self, world):
        """volcano-sh/volcano#5911."""
        grant = factories.grant(world.project, gpus=60)
        Gpu.objects.filter(pk__in=Gpu.objects.values("pk")[:10]).update(lost_at=march(1))

        assert refusal(world, 1, march(2), march(9)) == (
            "Research has 0 of 54 H100 left from 2 March to 8 March; the ask is for 1."
        )
        grant.refresh_from_db()
        assert (grant.gpus, grant.ended_at) == (60, None)

    def test_grants_of_the_other_division_count_only_against_what_is_healthy(self, world):
        factories.grant(world.applied_project, gpus=40)

        ask(world, 60, march(2), march(9))

    def test_a_model_line_of_the_split_takes_the_place_of_the_default(self, world):
        factories.split({"": {"research": 60, "applied": 40}, "H100": {"applied": 90}}, starts_at=march(1, 6))

        assert refusal(world, 1, march(2), march(9)) == (
            "Research has 0 of 0 H100 left from 2 March to 8 March; the ask is for 1."
        )
        ask(world, 90, march(2), march(9), project=world.applied_project)

    def test_of_two_splits_on_one_day_the_one_signed_later_holds(self, world):
        later = {"": {"research": 10, "applied": 90}}
        factories.split(later, starts_at=march(2), signed_at=march(1, 9))
        factories.split({"": {"research": 50, "applied": 50}}, starts_at=march(2), signed_at=march(1, 8))

        assert refusal(world, 11, march(2), march(9)) == (
            "Research has 10 of 10 H100 left from 2 March to 8 March; the ask is for 11."
        )
        assert queries.percents_of(queries.effective_split(march(3))) == {
            "": {"research": Decimal("10.00"), "applied": Decimal("90.00")}
        }

    def test_a_split_that_nobody_signed_changes_nothing(self, world):
        factories.split({"": {"research": 1}}, starts_at=march(2), state=Split.State.PROPOSED)

        ask(world, 60, march(2), march(9))

    def test_before_any_split_nobody_may_promise_anything(self, lab):
        factories.fleet(gpus=8)

        assert refusal(lab, 1, march(2), march(9)) == (
            "Research has 0 of 0 H100 left from 2 March to 8 March; the ask is for 1."
        )


def test_submission_checks_the_time_that_the_promise_would_have(world):
    factories.grant(world.project, gpus=40, starts_at=march(20), ends_at=march(25))

    submit(world, gpus=32, start_on=date(2027, 3, 1), days=10)
    with pytest.raises(OverShare) as refused:
        submit(world, gpus=32, start_on=date(2027, 3, 12), days=10)

    assert refused.value.message == "Research has 20 of 60 H100 left from 20 March to 21 March; the ask is for 32."


def test_the_numbers_of_a_model_say_when_an_ask_would_fit(world):
    factories.grant(world.project, gpus=40, ends_at=march(8))
    numbers = queries.capacity_of(factories.model(), at=march(1, 12))

    assert numbers.divisions["research"].free.at(march(2)) == 20
    assert numbers.divisions["research"].promised.at(march(2)) == 40
    assert numbers.healthy.at(march(2)) == 100
    assert numbers.earliest_start(world.research, Booking(march(2), march(4), 21)) == march(8)


def test_a_cut_below_what_is_promised_previews_as_debt(world):
    """kueue#5176."""
    factories.grant(world.project, gpus=50, ends_at=march(20))

    effects = queries.preview_split({"": {"research": Decimal(30), "applied": Decimal(70)}}, starts_at=march(10))

    assert [
        (each.division.slug, each.before_gpus, each.after_gpus, each.promised_gpus, each.debt_gpus) for each in effects
    ] == [("research", 60, 30, 50, 20), ("applied", 40, 70, 0, 0)]


def test_debt_that_a_later_signed_split_makes_is_not_laid_on_the_one_before_it(world):
    factories.grant(world.project, gpus=50, ends_at=march(20))
    factories.split({"": {"research": 30, "applied": 70}}, starts_at=march(12))

    effects = queries.preview_split({"": {"research": Decimal(60), "applied": Decimal(40)}}, starts_at=march(10))

    assert [(each.division.slug, each.after_gpus, each.debt_gpus) for each in effects] == [
        ("research", 60, 0), ("applied", 40, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("rows", [1, 3])
def test_the_numbers_of_all_models_take_the_same_queries_however_many_rows(lab, rows, django_assert_num_queries):
    factories.split()
    for number in range(rows):
        model = factories.model(f"Model {number}")
        factories.fleet(model, gpus=8)
        factories.grant(lab.project, gpus=1, model=model)
        factories.split(starts_at=march(2 + number))
        factories.cordon(Node.objects.filter(model=model).first())

    with django_assert_num_queries(5):
        numbers = queries.capacities_of(at=march(1, 12) + timedelta(hours=1))

    assert len(numbers) == rows


def test_gpus_that_are_to_come_count_from_their_day_on_and_are_named_as_not_there_yet(lab):
    h100 = factories.model("H100")
    factories.node(model=h100, gpus=8)
    now = timezone.now()
    day = timezone.localdate() + timedelta(days=30)
    arrivals.announce_arrival(model=h100, gpus=64, arrives_on=day, by=lab.ops, reason="order 4711")

    room = queries.capacity_of(h100, at=now)

    before, after = room.coming[0].starts_at - timedelta(seconds=1), room.coming[0].starts_at
    assert (room.healthy.at(now), room.healthy.at(before), room.healthy.at(after)) == (8, 8, 72)
    assert [(each.gpus, timezone.localdate(each.starts_at)) for each in room.coming] == [(64, day)]
