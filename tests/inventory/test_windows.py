"""Maintenance: a whole island out of use by one act, listed as one, lifted as one, all or none."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import queries as promises
from inventory import cordons, queries
from inventory.errors import WrongCordon
from inventory.models import Cordon, Event, Node
from tests import factories, races

pytestmark = pytest.mark.django_db


@pytest.fixture
def island():
    return [factories.node(f"gpu-{number}", island="pod-1", gpus=4) for number in range(3)]


def tomorrow():
    return timezone.now() + timedelta(days=1)


def plan(nodes, *, days=2, reason="firmware", since=None):
    since = since or tomorrow()
    cordons.set_cordons(nodes=nodes, by="ops", reason=reason, since=since, until=since + timedelta(days=days))
    return since


def test_an_island_is_one_line_with_all_its_gpus(island):
    since = plan(island)

    [row] = queries.nodes_out()
    assert (row.starts_at, row.reason, row.nodes, row.gpus, row.places) == (since, "firmware", 3, 12, ["pod-1"])
    assert [event.verb for event in Event.objects.all()] == ["cordon.set"] * 3


def test_a_part_of_an_island_is_told_by_its_nodes(island):
    plan(island[:2])

    assert queries.nodes_out()[0].places == ["gpu-0", "gpu-1"]


def test_promises_see_the_step_of_what_is_healthy(island):
    since = plan(island)
    model = island[0].model

    healthy = promises.capacity_of(model, at=timezone.now()).healthy

    instants = [timezone.now(), since, since + timedelta(days=2)]
    assert [healthy.at(instant) for instant in instants] == [12, 0, 12]


def test_where_one_node_is_taken_none_is_cordoned(island):
    factories.cordon(island[1], since=tomorrow())

    with pytest.raises(WrongCordon) as refused:
        plan(island)

    assert (refused.value.facts, Cordon.objects.count(), Event.objects.count()) == ({"node": "gpu-1"}, 1, 0)


def test_nothing_to_cordon_is_refused():
    with pytest.raises(WrongCordon):
        plan([])


def test_one_to_come_that_is_lifted_never_was(island):
    since = plan(island)

    lifted = cordons.lift_cordons(cordons=queries.cordons_of_act(starts_at=since, reason="firmware"), by="ops")

    assert ([cordon.node.name for cordon in lifted], Cordon.objects.count()) == (["gpu-0", "gpu-1", "gpu-2"], 0)
    assert Event.objects.filter(verb="cordon.lifted").count() == 3
    assert queries.nodes_out() == []


def test_one_in_force_that_is_lifted_stays_as_what_was(island):
    since = timezone.now() - timedelta(hours=1)
    for node in island:
        factories.cordon(node, since=since, reason="fan")

    cordons.lift_cordons(cordons=queries.cordons_of_act(starts_at=since, reason="fan"), by="ops")

    assert {cordon.during.lower for cordon in Cordon.objects.all()} == {since}
    assert Cordon.objects.filter(during__contains=timezone.now()).count() == 0


def test_an_act_is_told_from_another_one_that_begins_with_it(island):
    since = plan(island[:1], reason="firmware")
    plan(island[1:], reason="cooling", since=since)

    cordons.lift_cordons(cordons=queries.cordons_of_act(starts_at=since, reason="cooling"), by="ops")

    assert [cordon.node.name for cordon in Cordon.objects.all()] == ["gpu-0"]


@pytest.mark.django_db(transaction=True)
def test_of_two_who_lift_it_at_once_one_is_told(island, monkeypatch):
    since = plan(island)
    found = list(queries.cordons_of_act(starts_at=since, reason="firmware"))
    window = races.Window()
    monkeypatch.setattr(cordons.trail, "record_many", window.before(cordons.trail.record_many))

    outcomes = races.at_once(*(lambda: cordons.lift_cordons(cordons=found, by="ops") for _ in range(2)))

    assert races.kinds(outcomes) == ["WrongCordon", "list"]
    assert Event.objects.filter(verb="cordon.lifted").count() == 3


@pytest.mark.django_db(transaction=True)
def test_of_two_who_cordon_the_same_nodes_at_once_one_is_told(island, monkeypatch):
    since = tomorrow()
    window = races.Window()
    monkeypatch.setattr(cordons.trail, "record_many", window.before(cordons.trail.record_many))

    outcomes = races.at_once(lambda: plan(island, since=since), lambda: plan(island[::-1], since=since))

    assert races.kinds(outcomes) == ["WrongCordon", "datetime"]
    assert Cordon.objects.count() == 3


def test_names_of_nodes_and_islands_become_nodes_and_unknown_ones_are_named(island):
    factories.node("ws-1", island="")
    factories.node("sold", island="pod-1", retired_at=timezone.now())

    nodes, unknown = queries.nodes_at(["pod-1", "ws-1", "nowhere", "sold"])

    assert ([node.name for node in nodes], unknown) == (["gpu-0", "gpu-1", "gpu-2", "ws-1"], ["nowhere", "sold"])
    assert (queries.islands(), Node.objects.count()) == (["pod-1"], 5)
