"""The trail as a file: what the page's filters leave, for those who may read it, in parts of one size."""

import json

import pytest
from asgiref.sync import async_to_sync
from django.core.management import call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from inventory import trail
from inventory.models import Event
from tests import factories

URL = "/trail/export.jsonl"


@pytest.fixture
def sealed(lab):
    """Five changes of a node and one cordon, sealed, and a change that is not yet."""
    node = factories.node("n1", cards=0)
    with transaction.atomic():
        trail.record_many("node.changed", [(node, {"number": number}) for number in range(5)], by=lab.ops)
        trail.record("cordon.set", node, by=lab.ops, reason="fan \u2013 l\u00e4uft nicht")
    trail.seal()
    with transaction.atomic():
        trail.record("node.changed", node, by=lab.ops)


def rows(answer) -> list[dict]:
    async def read():
        return b"".join([part async for part in answer.streaming_content])

    return [json.loads(line) for line in async_to_sync(read)().splitlines()]


def test_the_sealed_events_come_in_the_chains_order_and_verify(client, lab, sealed, tmp_path, capsys):
    client.force_login(lab.auditor)

    found = rows(client.get(URL))

    assert [row["position"] for row in found] == list(range(1, Event.objects.exclude(seal=None).count() + 1))
    assert found[-1]["reason"] == "fan \u2013 l\u00e4uft nicht"
    path = tmp_path / "export.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in found))
    call_command("verify_trail", file=path)
    assert capsys.readouterr().out == f"The export holds: {len(found)} events.\n"


def test_the_filters_of_the_page_hold_and_the_page_links_to_them(client, lab, sealed):
    client.force_login(lab.auditor)

    found = rows(client.get(URL, {"verb": "cordon"}))
    page = client.get("/trail/", {"verb": "cordon", "before": "999"}).content.decode()

    assert [row["verb"] for row in found] == ["cordon.set"]
    assert f'href="{URL}?verb=cordon"' in page


def test_each_part_is_read_by_itself_whatever_the_length(client, lab, sealed, monkeypatch):
    monkeypatch.setattr(trail, "EXPORT_BATCH", 2)
    client.force_login(lab.auditor)
    answer = client.get(URL, {"verb": "node.changed"})

    with CaptureQueriesContext(connection) as asked:
        found = rows(answer)

    assert (len(found), len(asked)) == (5, 4)
    assert all("LIMIT 2" in query["sql"] for query in asked.captured_queries)


def test_only_those_who_may_read_the_trail_get_it(client, lab, sealed):
    answers = {}
    for name, person in lab.everyone.items():
        client.force_login(person)
        answers[name] = client.get(URL).status_code
    client.logout()

    readers = {name for name, status in answers.items() if status == 200}
    assert readers == {"chief-scientist", "research-head", "ceo-applications", "ceo", "ops", "auditor", "admin"}
    assert set(answers.values()) == {200, 403}
    assert client.get(URL).status_code == 302
