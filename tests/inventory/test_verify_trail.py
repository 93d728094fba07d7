"""The chain of the trail, checked by hand: whole, waiting, and broken where somebody changed the past."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from inventory import trail
from inventory.models import Event
from tests import factories

pytestmark = pytest.mark.django_db


def verify():
    out = StringIO()
    call_command("verify_trail", stdout=out)
    return out.getvalue().strip()


def happen(times):
    node = factories.node("n1", cards=0)
    with transaction.atomic():
        trail.record_many("node.changed", [(node, {"number": number}) for number in range(times)], by="tests")


def test_a_whole_trail_says_how_much_is_sealed_and_how_much_waits():
    happen(3)
    trail.seal()
    trail.record("node.changed", factories.node(cards=0), by="tests")

    assert verify() == "The trail is whole: 3 events sealed, 1 not sealed yet."


@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE inventory_event SET reason = 'forged' WHERE id = %s",
        "UPDATE inventory_event SET facts = '{}' WHERE id = %s",
        "UPDATE inventory_event SET at = at + interval '1 second' WHERE id = %s",
        "DELETE FROM inventory_eventseal WHERE event_id = %s",
    ],
)
def test_a_changed_past_is_told_with_its_position(forgery):
    happen(3)
    trail.seal()
    second = Event.objects.order_by("pk")[1]
    with connection.cursor() as cursor:
        # What a superuser could do behind the trigger's back.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE inventory_event DISABLE TRIGGER append_only")
        cursor.execute("ALTER TABLE inventory_eventseal DISABLE TRIGGER append_only")
        cursor.execute(forgery, [second.pk])

    with pytest.raises(CommandError, match=r"^The trail is broken at position 2\.$"):
        verify()
