"""Nodes as pages show them: what was seen, what is lost, what is unknown; one query however many rows."""

from datetime import timedelta

import pytest
from django.utils import timezone

from inventory.models import Gpu
from inventory.queries import cordons_now, nodes_with_counts, recent_faults
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


def test_a_list_says_how_many_cards_were_seen_are_lost_held_and_unknown():
    a_node_of_every_state()

    [row] = nodes_with_counts()

    assert (row.expected_gpus, row.seen_gpus, row.lost_gpus) == (8, 6, 1)
    assert (row.held_gpus, row.unknown_gpus, row.cordoned) == (3, 2, False)


def test_a_holder_that_is_not_known_is_unknown_and_not_free():
    node = factories.node(gpus=1)
    factories.reading(node.gpus.get(), None)

    assert nodes_with_counts().get().unknown_gpus == 1


def test_a_cordon_counts_while_it_is_in_force():
    now = timezone.now()
    cordoned, quiet = factories.node("a", gpus=1), factories.node("b", gpus=1, silent_since=now, fault="bad_token")
    for node in (cordoned, quiet):
        factories.reading(node.gpus.get(), "")
    factories.cordon(cordoned)
    factories.cordon(quiet, until=now - timedelta(hours=1))
    coming = factories.cordon(quiet, since=now + timedelta(hours=1))

    assert dict(nodes_with_counts().values_list("name", "cordoned")) == {"a": True, "b": False}
    assert list(cordons_now(quiet)) == [coming]


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
