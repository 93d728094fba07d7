"""The chain of the trail, checked by hand: whole, waiting, and broken where somebody changed the past."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from inventory import trail
from inventory.models import Event
from tests import factories

pytestmark = pytest.mark.django_db


def verify(**options):
    out = StringIO()
    call_command("verify_trail", stdout=out, **options)
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
        "UPDATE inventory_event SET actor = 'somebody' WHERE id = %s",
    ],
)
def test_a_changed_past_is_told_with_its_row(forgery):
    happen(3)
    trail.seal()
    second = Event.objects.order_by("pk")[1]
    forge(forgery, second)

    with pytest.raises(CommandError) as told:
        verify()

    row = f"event {second.pk}, node.changed, at {second.at.isoformat()}"
    assert str(told.value) == f"The trail is broken at position 2: {row}."


def test_a_link_taken_out_is_told_with_the_row_that_stands_in_its_place():
    happen(3)
    trail.seal()
    second, third = Event.objects.order_by("pk")[1:]
    forge("DELETE FROM inventory_eventseal WHERE event_id = %s", second)

    with pytest.raises(
        CommandError, match=rf"^The trail is broken at position 2: event {third.pk}, node\.changed, at "
    ):
        verify()


def forge(statement, event):
    with connection.cursor() as cursor:
        # What a superuser could do behind the trigger's back.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE inventory_event DISABLE TRIGGER append_only")
        cursor.execute("ALTER TABLE inventory_eventseal DISABLE TRIGGER append_only")
        cursor.execute(statement, [event.pk])


class TestExport:
    @pytest.fixture
    def lines(self, monkeypatch):
        monkeypatch.setattr(trail, "EXPORT_BATCH", 2)
        happen(5)
        trail.seal()
        lines, position = [], 0
        while batch := trail.exported_after(Event.objects.all(), position):
            lines += [json.loads(line) for _position, line in batch]
            position = batch[-1][0]
        return lines

    def check(self, tmp_path, rows):
        path = tmp_path / "export.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return verify(file=path)

    def test_a_whole_export_holds_in_the_chains_order(self, lines, tmp_path):
        assert [row["position"] for row in lines] == [1, 2, 3, 4, 5]
        assert self.check(tmp_path, lines) == "The export holds: 5 events."

    def test_a_filtered_export_holds_too(self, lines, tmp_path):
        assert self.check(tmp_path, [lines[1], lines[4]]) == "The export holds: 2 events."

    @pytest.mark.parametrize(
        "change", [{"reason": "forged"}, {"digest": "0" * 64}, {"previous": "0" * 64}, {"facts": {}}, {"position": 2}]
    )
    def test_a_changed_line_is_named(self, lines, tmp_path, change):
        forged = [*lines[:2], lines[2] | change, *lines[3:]]

        with pytest.raises(
            CommandError, match=rf": event {lines[2]['id']}, node\.changed, at .*\. 2 lines before it do"
        ):
            self.check(tmp_path, forged)

    def test_a_chain_made_anew_does_not_meet_our_seals(self, lines, tmp_path):
        lines[0]["reason"] = "forged"
        previous = trail.GENESIS
        for row in lines:
            row["previous"] = previous
            previous = row["digest"] = trail._digest(
                [previous, row["id"], *(row[name] for name in trail.SEALED_FIELDS)]
            )

        with pytest.raises(CommandError, match="does not hold at position 1: "):
            self.check(tmp_path, lines)

    @pytest.mark.parametrize("text", ["no json", "{}", "[]", "1"])
    def test_a_file_that_is_no_export_is_said_to_be_none(self, tmp_path, text):
        path = tmp_path / "other.txt"
        path.write_text(text)

        with pytest.raises(CommandError, match="This is no export of the trail"):
            verify(file=path)
