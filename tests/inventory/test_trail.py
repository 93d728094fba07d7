"""The trail: append-only in the database, and sealed into a chain that shows what was changed behind its back."""

import pytest
from django.db import DatabaseError, connection, transaction

from inventory import trail
from inventory.models import Event, EventSeal
from tests import factories

pytestmark = pytest.mark.django_db


def execute(sql, *values):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # as after a commit: nothing is pending on the tables
        cursor.execute(sql, values)


@pytest.fixture
def events():
    node = factories.node(cards=0)
    return [trail.record("node.changed", node, by="tests", before=number, after=number + 1) for number in range(5)]


class TestAppendOnly:
    @pytest.mark.parametrize(
        "sql",
        [
            "UPDATE inventory_event SET reason = 'another'",
            "DELETE FROM inventory_event",
            "TRUNCATE inventory_event CASCADE",
            "UPDATE inventory_eventseal SET digest = repeat('0', 64)",
            "DELETE FROM inventory_eventseal",
            "TRUNCATE inventory_eventseal",
        ],
    )
    def test_nothing_is_changed_deleted_or_emptied(self, events, sql):
        trail.seal()

        with pytest.raises(DatabaseError, match="the trail is append-only"):
            execute(sql)

        assert (Event.objects.filter(reason="").count(), EventSeal.objects.count(), trail.verify()) == (5, 5, None)

    def test_an_event_is_written_in_the_transaction_of_its_change_and_goes_with_it(self, events):
        node = factories.node(cards=0)
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            trail.record("node.changed", node, by="tests")
            _ = 1 / 0

        assert Event.objects.count() == 5

    @pytest.mark.django_db(transaction=True)
    def test_outside_a_transaction_there_is_no_event(self):
        node = factories.node(cards=0)

        with pytest.raises(AssertionError):
            trail.record("node.changed", node, by="tests")

        assert Event.objects.count() == 0


class TestChain:
    def test_every_event_is_sealed_once(self, events):
        assert (trail.seal(), trail.seal()) == (5, 0)
        trail.record("node.changed", factories.node(cards=0), by="tests")

        assert (trail.seal(), trail.verify()) == (1, None)
        assert list(EventSeal.objects.values_list("position", flat=True)) == [1, 2, 3, 4, 5, 6]

    @pytest.mark.parametrize(
        "change",
        [
            "facts = '{}'", "reason = 'because'", "actor = 'somebody-else'", "at = at - interval '1 day'",
            "verb = 'node.added'", "subject_id = '0'", "subject_label = 'x'", "actor_id = 1",
        ],
    )  # fmt: skip
    def test_an_event_changed_behind_the_triggers_back_is_found(self, events, change):
        trail.seal()
        execute("ALTER TABLE inventory_event DISABLE TRIGGER append_only")
        execute(f"UPDATE inventory_event SET {change} WHERE id = %s", events[2].pk)

        assert trail.verify() == 3

    def test_an_event_taken_out_with_its_seal_is_found(self, events):
        trail.seal()
        for table in ("event", "eventseal"):
            execute(f"ALTER TABLE inventory_{table} DISABLE TRIGGER append_only")
        execute("DELETE FROM inventory_eventseal WHERE position = 4")
        execute("DELETE FROM inventory_event WHERE id = %s", events[3].pk)

        assert trail.verify() == 4

    def test_an_event_changed_and_sealed_anew_breaks_the_next_link(self, events):
        trail.seal()
        seals = list(EventSeal.objects.all())
        for table in ("event", "eventseal"):
            execute(f"ALTER TABLE inventory_{table} DISABLE TRIGGER append_only")
        execute("UPDATE inventory_event SET reason = 'because' WHERE id = %s", events[1].pk)
        forged = trail._link(seals[0].digest, Event.objects.get(pk=events[1].pk))
        execute("UPDATE inventory_eventseal SET digest = %s WHERE position = 2", forged)

        assert trail.verify() == 3
