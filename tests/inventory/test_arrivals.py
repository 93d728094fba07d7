"""Planned arrivals: they count for promises from their day on and for nothing before; each step is in the trail."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from inventory import arrivals, cordons, queries
from inventory.errors import WrongArrival, WrongCordon
from inventory.models import Arrival, Event
from inventory.queries import Coming, Outage
from tests import factories, races

pytestmark = pytest.mark.django_db
SOON = timedelta(days=30)


@pytest.fixture
def model():
    return factories.model("H100")


def announce(model, *, gpus=64, days=30):
    arrives_on = timezone.localdate() + timedelta(days=days)
    return arrivals.announce_arrival(model=model, gpus=gpus, arrives_on=arrives_on, by="ops", reason="order 4711")


def beginning(days, zone=UTC):
    day = timezone.localdate() + timedelta(days=days)
    return datetime(day.year, day.month, day.day, tzinfo=zone)


def test_what_is_announced_comes_on_its_day_and_stands_in_the_trail(model):
    announce(model, days=60)
    announce(model, gpus=8, days=30)

    assert queries.coming() == [Coming(model.pk, beginning(30), 8), Coming(model.pk, beginning(60), 64)]
    assert (queries.supply().coming, queries.healthy_counts()) == (queries.coming(), {})
    assert [event.verb for event in Event.objects.all()] == ["arrival.announced"] * 2


def test_supply_is_one_query_with_arrivals_too(model, django_assert_num_queries):
    factories.cordon(factories.node(model=model, gpus=2))
    announce(model)

    with django_assert_num_queries(1):
        supply = queries.supply()

    assert (supply.healthy, len(supply.outages), len(supply.coming)) == ({model.pk: 2}, 1, 1)


@pytest.mark.parametrize("end", [arrivals.mark_arrived, arrivals.cancel_arrival])
def test_what_came_or_was_cancelled_counts_no_more_and_ends_once(model, end):
    row = announce(model)

    end(arrival=row, by="ops", reason="truck")

    assert queries.coming() == []
    for again in (arrivals.mark_arrived, arrivals.cancel_arrival):
        with pytest.raises(WrongArrival):
            again(arrival=row, by="ops", reason="again")
    assert Event.objects.count() == 2


def test_a_late_one_counts_for_nothing(model):
    row = announce(model, days=1)
    Arrival.objects.filter(pk=row.pk).update(arrives_on=timezone.localdate())

    assert queries.coming() == []


@pytest.mark.parametrize(("gpus", "days"), [(0, 30), (8, 0), (8, -1)])
def test_no_gpus_and_days_that_are_over_are_refused(model, gpus, days):
    with pytest.raises(WrongArrival):
        announce(model, gpus=gpus, days=days)

    assert Arrival.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_of_two_who_end_it_at_once_one_is_told(monkeypatch):
    row = announce(factories.model("H100"))
    window = races.Window()
    monkeypatch.setattr(arrivals.trail, "record", window.before(arrivals.trail.record))

    outcomes = races.at_once(
        lambda: arrivals.mark_arrived(arrival=row, by="ops"),
        lambda: arrivals.cancel_arrival(arrival=Arrival.objects.get(pk=row.pk), by="ops", reason="lost"),
    )

    assert races.kinds(outcomes) == ["Arrival", "WrongArrival"]
    assert Event.objects.count() == 2


def test_a_maintenance_window_is_a_step_of_what_is_healthy(model):
    node = factories.node(model=model, gpus=8)
    since, until = timezone.now() + SOON, timezone.now() + SOON + timedelta(days=2)

    cordons.set_cordon(node=node, by="ops", reason="firmware", since=since, until=until)

    assert queries.outages() == [Outage(model.pk, since, until, 8)]
    with pytest.raises(WrongCordon):
        cordons.set_cordon(node=node, by="ops", reason="again", since=since + timedelta(days=1))


def test_a_window_that_ends_before_it_begins_is_refused(model):
    node = factories.node(model=model, gpus=8)
    since = timezone.now() + SOON

    with pytest.raises(WrongCordon):
        cordons.set_cordon(node=node, by="ops", reason="firmware", since=since, until=since - timedelta(hours=1))
