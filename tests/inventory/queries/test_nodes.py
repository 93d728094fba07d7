"""Nodes and tiles as pages show them: what was seen, what is lost, what is unknown; one query however many rows."""

from datetime import timedelta

import pytest
from django.utils import timezone

from inventory.models import Gpu
from inventory.queries import (
    cordons_now,
    fleet_tiles,
    gpus_of,
    node_counts,
    nodes_with_counts,
    recent_faults,
    short_nodes,
    silent_nodes,
)
from tests import factories
from tests.inventory.survey.seen import silent, survey

pytestmark = pytest.mark.django_db


def a_node_of_every_state():
    """Seven cards in slots 0 to 6: free, idle, busy, draining, stale, never read, lost; and one that was replaced."""
    now = timezone.now()
    node = factories.node("n1", gpus=8, cards=7, site="hall", island="i1")
    free, idle, busy, draining, stale, _never, lost = node.gpus.order_by("pci_bus_id")
    factories.reading(free, "")
    factories.reading(idle, "apollo", util_pct=0.0)
    factories.reading(busy, "apollo", util_pct=40.0)
    factories.reading(draining, "apollo", util_pct=0.0, draining=True)
    factories.reading(stale, "apollo", util_pct=90.0, requested_at=now - timedelta(hours=1))
    factories.reading(lost, "apollo", util_pct=None)
    Gpu.objects.filter(pk=lost.pk).update(lost_at=now)
    factories.gpu(node, slot=7, retired_at=now)
    return node


STATES = ["free", "idle", "busy", "draining", "unknown", "unknown", "lost"]


def test_a_list_says_how_many_cards_were_seen_are_lost_held_and_unknown():
    a_node_of_every_state()

    [row] = nodes_with_counts()

    assert (row.expected_gpus, row.seen_gpus, row.lost_gpus) == (8, 6, 1)
    assert (row.held_gpus, row.unknown_gpus, row.cordoned) == (3, 2, False)


def test_the_gpus_of_a_node_come_by_slot_with_their_state_and_the_retired_last():
    node = a_node_of_every_state()

    assert [gpu.state for gpu in gpus_of(node)] == [*STATES, "retired"]


def test_tiles_say_the_same_states_and_how_old_what_they_say_is():
    a_node_of_every_state()

    tiles = fleet_tiles()

    assert [tile.state for tile in tiles] == STATES
    assert {(tile.node, tile.island, tile.site, tile.model) for tile in tiles} == {("n1", "i1", "hall", "H100")}
    assert [tile.holder for tile in tiles] == ["", "apollo", "apollo", "apollo", "apollo", None, "apollo"]
    assert [tile.util_pct for tile in tiles] == [0.0, 0.0, 40.0, 0.0, 90.0, None, None]
    assert (tiles[5].age_s, 3600 <= tiles[4].age_s <= 3660) == (None, True)
    assert {(tile.cordoned, tile.silent) for tile in tiles} == {(False, False)}


def test_a_reading_without_utilisation_is_unknown_and_not_idle():
    node = factories.node(gpus=1)
    factories.reading(node.gpus.get(), "apollo", util_pct=None)

    assert ([tile.state for tile in fleet_tiles()], [gpu.state for gpu in gpus_of(node)]) == (["unknown"], ["unknown"])


def test_a_holder_that_is_not_known_is_unknown_and_not_free():
    node = factories.node(gpus=1)
    factories.reading(node.gpus.get(), None)

    assert [tile.state for tile in fleet_tiles()] == ["unknown"]
    assert nodes_with_counts().get().unknown_gpus == 1


def test_cordon_and_silence_are_apart_from_the_state():
    now = timezone.now()
    cordoned, quiet = factories.node("a", gpus=1), factories.node("b", gpus=1, silent_since=now, fault="bad_token")
    for node in (cordoned, quiet):
        factories.reading(node.gpus.get(), "")
    factories.cordon(cordoned)
    factories.cordon(quiet, until=now - timedelta(hours=1))
    coming = factories.cordon(quiet, since=now + timedelta(hours=1))

    assert [(tile.state, tile.cordoned, tile.silent) for tile in fleet_tiles()] == [
        ("free", True, False),
        ("free", False, True),
    ]
    assert dict(nodes_with_counts().values_list("name", "cordoned")) == {"a": True, "b": False}
    assert list(cordons_now(quiet)) == [coming]


def test_silent_nodes_come_by_the_length_of_their_silence():
    now = timezone.now()
    fresh = factories.node(cards=0, silent_since=now, fault="bad_token")
    old = factories.node(cards=0, silent_since=now - timedelta(days=1), fault="node_unreachable")
    factories.node(cards=0, silent_since=now, fault="bad_token", retired_at=now)
    factories.node(cards=0)

    assert list(silent_nodes()) == [old, fresh]


def test_a_node_that_never_answered_is_not_short_and_one_that_shows_less_is():
    factories.node("new", gpus=8, cards=0)
    factories.node("whole", gpus=2, answered_at=timezone.now())
    factories.node("short", gpus=8, cards=7, answered_at=timezone.now())

    assert [(node.name, node.seen_gpus) for node in short_nodes()] == [("short", 7)]


def test_the_fleet_adds_up():
    a_node_of_every_state()
    factories.node(gpus=4, silent_since=timezone.now(), fault="bad_token")

    assert node_counts() == (2, 1, 12, 10, 1)


def test_faults_come_newest_first():
    node = factories.node("n1", cards=0)
    for number in range(3):
        survey(silent(node))
        type(node).objects.update(fault=f"other_{number}")

    assert len(recent_faults(node)) == 3
    assert recent_faults(node)[0].pk > recent_faults(node)[2].pk


@pytest.mark.parametrize("count", [1, 3])
def test_lists_are_one_query_however_many_rows(count, django_assert_num_queries):
    for number in range(count):
        node = factories.node(f"n{number}", gpus=count, answered_at=timezone.now())
        for gpu in node.gpus.all():
            factories.reading(gpu, "apollo")
        factories.cordon(node)

    with django_assert_num_queries(1):
        assert [(row.model.name, row.seen_gpus) for row in nodes_with_counts()] == [("H100", count)] * count
    with django_assert_num_queries(1):
        assert [(gpu.model.name, gpu.reading.holder) for gpu in gpus_of(node)] == [("H100", "apollo")] * count
    with django_assert_num_queries(1):
        assert len(fleet_tiles()) == count * count
    with django_assert_num_queries(1):
        node_counts()
