"""Rubbish in an address or a body of the API: a problem with a code, never a broken page."""

import pytest

from allocations.models import Pitch, Split
from inventory.models import Cordon
from tests import factories

PROBLEM = "application/problem+json"
JSON = "application/json"


def _told(answer) -> tuple[int, str, str]:
    return answer.status_code, answer.headers["Content-Type"], answer.json()["code"]


@pytest.mark.parametrize(
    "address", ["/api/gpus/%00/", "/api/nodes/a%00b/", "/api/pitches/?project=%00", "/api/schema/?version=%00"]
)
def test_a_nul_in_an_address_is_a_bad_request(client, lab, address):
    client.force_login(lab.ops)

    assert _told(client.get(address)) == (400, PROBLEM, "bad_request")


@pytest.mark.parametrize("name", ["before", "page_size"])
@pytest.mark.parametrize("value", ["9" * 5000, "²", "0", "-1", "x"], ids=str.__len__)
def test_a_number_that_is_none_is_invalid(client, lab, name, value):
    client.force_login(lab.ops)

    assert _told(client.get("/api/projects/", {name: value})) == (400, PROBLEM, "invalid")


@pytest.mark.parametrize("body", ["[" * 200_000, '{"reason":' * 100_000], ids=["lists", "objects"])
def test_a_body_nested_without_end_cannot_be_parsed(client, lab, body):
    pitch = factories.pitch(project=lab.project, pitcher=lab.pitcher)
    client.force_login(lab.pitcher)

    answer = client.post(f"/api/pitches/{pitch.public_id}/withdraw/", body, JSON)

    assert _told(answer) == (400, PROBLEM, "parse_error")


def test_a_body_of_megabytes_is_refused_before_it_is_read(client, lab):
    pitch = factories.pitch(project=lab.project, pitcher=lab.pitcher)
    client.force_login(lab.pitcher)

    answer = client.post(f"/api/pitches/{pitch.public_id}/withdraw/", {"reason": "x" * 3 * 2**20}, JSON)

    assert _told(answer) == (400, PROBLEM, "bad_request")


@pytest.mark.parametrize("version", ["\r\nX-Evil: 1", "é", 'a"b'])
def test_the_address_of_the_document_writes_no_header(client, lab, version):
    client.force_login(lab.ops)

    answer = client.get("/api/schema/", {"version": version})

    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"] == 'inline; filename="Allot (0.1.0).json"'


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00"])
def test_nothing_is_dated_out_of_reach(client, lab, at):
    node = factories.node("gpu-9.lab")
    model = factories.model("H100")
    ask = {"project": lab.project.slug, "title": "Ever after", "why": "Why not", "model": model.name, "ideal_gpus": 1,
           "min_gpus": 1, "days": 9, "start_on": at[:10]}  # fmt: skip
    doors = [
        (lab.ops, f"/api/nodes/{node.name}/cordon/", {"reason": "Fan", "until": at}),
        (lab.ceo, "/api/splits/", {"starts_at": at, "percents": {"": {"research": "50", "applied": "50"}}}),
        (lab.pitcher, "/api/pitches/", ask),
    ]

    refused = []
    for person, address, body in doors:
        client.force_login(person)
        refused.append(client.post(address, body, JSON))

    assert [(answer.status_code in (400, 409, 422), answer.headers["Content-Type"]) for answer in refused] == [
        (True, PROBLEM)
    ] * 3
    assert (Cordon.objects.count(), Split.objects.count(), Pitch.objects.count()) == (0, 0, 0)


def test_a_fault_of_ours_is_a_problem_too(client, lab, monkeypatch):
    client.force_login(lab.pitcher)
    client.raise_request_exception = False
    monkeypatch.setattr("allocations.queries.projects_visible_to", lambda _person: 1 // 0)

    answer = client.get("/api/projects/")

    assert _told(answer) == (500, PROBLEM, "broken")
