"""What the soak looks for, it finds."""

import pytest
from django.db import connection

from inventory import rollups
from inventory.drivers.base import Value
from inventory.models import Node
from tests import factories
from tests.inventory.survey.seen import NOON, card, later, said, survey
from tests.soak import checks, truth
from tests.soak.blows import Silence

pytestmark = pytest.mark.django_db

BELIEVED_S = 30


@pytest.fixture(autouse=True)
def ten_seconds(settings):
    settings.POLL_INTERVAL_S = 10


@pytest.fixture
def cards():
    """Two cards, read every ten seconds from noon on, apart from the minute and a half in which their agent is away."""
    factories.node("n0", gpus=2, cards=0)
    true = truth.cards(1)[:2]
    for second in [*range(0, 61, 10), *range(150, 301, 10)]:
        shown = [_shown(said_of, said_of) for said_of in true]
        survey(said(Node.objects.get(), *shown, at=later(second)), at=later(second))
    rollups.recompute(NOON, NOON + rollups.SPAN)
    return true


AWAY = [Silence("n0", later(61).timestamp(), later(149).timestamp())]


def _shown(where, what):
    """The card of `where` with the holder and the memory of `what`."""
    slot = int(where["slot"])
    return card(
        where["uuid"],
        slot,
        pci_bus_id=f"00000000:{16 + slot:02X}:00.0",
        holder=what["holder"],
        mem_used_mib=Value(what["mem_used_mib"], None, 0.0),
    )


def _run(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_what_is_true_holds(cards):
    checks.nothing_is_another_cards(cards)
    checks.every_second_stands_once()
    assert checks.no_gap_counts_as_use(AWAY, believed_s=BELIEVED_S) == 1


def test_one_reading_of_another_card_is_seen(cards):
    mixed = [_shown(cards[0], cards[1]), _shown(cards[1], cards[1])]

    survey(said(Node.objects.get(), *mixed, at=later(310)), at=later(310))

    with pytest.raises(AssertionError, match="readings of other cards"):
        checks.nothing_is_another_cards(cards)


def test_a_card_that_was_never_read_is_seen(cards):
    with pytest.raises(AssertionError):
        checks.nothing_is_another_cards(truth.cards(1)[:3])


@pytest.mark.parametrize("change", ["unknown_s = unknown_s - 1", "idle_s = idle_s + 1"])
def test_a_second_that_is_lost_or_told_twice_is_seen(cards, change):
    _run(f"UPDATE inventory_usage5min SET {change} WHERE gpu_id = (SELECT min(gpu_id) FROM inventory_usage5min)")

    with pytest.raises(AssertionError, match="seconds told and due differ"):
        checks.every_second_stands_once()


def test_a_gap_that_counts_as_idle_is_seen(cards):
    _run("UPDATE inventory_usage5min SET idle_s = idle_s + 40, unknown_s = unknown_s - 40")

    with pytest.raises(AssertionError, match="known for longer than the agent answered"):
        checks.no_gap_counts_as_use(AWAY, believed_s=BELIEVED_S)
