"""Scenarios over the API: saved, listed, opened and dropped as at the desk, by those who decide there."""

import pytest

from allocations.models import Scenario, SignOff
from tests import factories

JSON = "application/json"
DECIDERS = {"chief-scientist", "research-head", "ceo-applications", "ceo"}
NOTHING = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def pitch(lab):
    factories.split()
    factories.fleet(gpus=32)
    return factories.submitted(lab.project, lab.pitcher, title="First", gpus=8)


def _said(pitch, **changes):
    key = str(pitch.public_id)
    marks = {"taken": [key], "gpus": {key: 4}, "starts": {key: "2031-01-05"}, "days": {key: 7}}
    return {"name": "Only four", "note": "Ask.", "division": "research", "model": "H100", "marks": marks} | changes


def _save(client, pitch, **changes):
    return client.post("/api/scenarios/", _said(pitch, **changes), JSON)


def test_what_is_saved_here_opens_at_the_desk_and_decides_nothing(client, lab, pitch):
    client.force_login(lab.head)
    saved = _save(client, pitch)
    client.force_login(lab.chief)

    listed = client.get("/api/scenarios/").json()["results"]
    opened = client.get(f"/api/scenarios/{saved.json()['id']}/").json()
    page = client.get(f"/desk/?{opened['place']}&scenario={opened['id']}").content.decode()

    assert (saved.status_code, listed) == (201, [opened])
    assert (opened["by"], opened["place"]) == ("research-head", "division=research&model=H100")
    assert opened["marks"] == {
        "taken": [str(pitch.public_id)], "ended": [], "ranks": {}, "models": {}, "keeps": {},
        "gpus": {str(pitch.public_id): "4"}, "starts": {str(pitch.public_id): "2031-01-05"},
        "days": {str(pitch.public_id): "7"},
    }  # fmt: skip
    assert f'name="gpus-{pitch.public_id}" value="4"' in page
    assert SignOff.objects.count() == 0


def test_a_desk_that_was_saved_on_the_page_is_read_here(client, lab, pitch):
    client.force_login(lab.chief)
    typed = {"division": "research", "model": "H100", "take": [f"{pitch.public_id}:1:chief-scientist"]}
    client.post("/desk/scenarios/", typed | {"scenario_name": "By hand"})

    [row] = client.get("/api/scenarios/").json()["results"]

    assert (row["name"], row["marks"]["taken"]) == ("By hand", [str(pitch.public_id)])


def test_its_saver_drops_it_and_it_is_gone(client, lab, pitch):
    client.force_login(lab.head)
    address = f"/api/scenarios/{_save(client, pitch).json()['id']}/"
    client.force_login(lab.chief)
    refused = client.delete(address)
    client.force_login(lab.head)

    codes = [client.delete(address).status_code, client.get(address).status_code, client.delete(address).status_code]

    assert (refused.status_code, refused.json()["code"], codes) == (403, "not_allowed", [204, 404, 404])
    assert Scenario.objects.filter(dropped_at=None).count() == 0


@pytest.mark.parametrize("door", ["list", "save", "open", "drop"])
def test_every_door_is_for_those_who_decide(client, lab, pitch, door):
    row = Scenario.objects.create(by=lab.head, name="Theirs", saved_at=pitch.submitted_at, marks={"taken": []})
    ways = {
        "list": lambda: client.get("/api/scenarios/"),
        "save": lambda: _save(client, pitch),
        "open": lambda: client.get(f"/api/scenarios/{row.public_id}/"),
        "drop": lambda: client.delete(f"/api/scenarios/{row.public_id}/"),
    }
    yes = {"list": 200, "save": 201, "open": 200, "drop": 403}[door]
    found = {}

    for login, person in lab.everyone.items():
        client.force_login(person)
        found[login] = ways[door]().status_code

    expected = {login: yes if login in DECIDERS else 403 for login in lab.everyone}
    assert found == expected | (
        {"research-head": 204, **dict.fromkeys(_after_the_head(lab), 404)} if door == "drop" else {}
    )


def _after_the_head(lab) -> list[str]:
    """The deciders who come after the saver has dropped it: for them it is not there."""
    logins = [login for login in lab.everyone if login in DECIDERS]
    return logins[logins.index("research-head") + 1 :]


def test_nobody_gets_in_without_logging_in(client, pitch):
    answers = [client.get("/api/scenarios/"), _save(client, pitch), client.delete(f"/api/scenarios/{NOTHING}/")]

    assert [answer.status_code for answer in answers] == [401, 401, 401]


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""}, {"name": "x" * 121}, {"division": "nowhere"}, {"model": "Z1"}, {"marks": None},
        {"marks": {"taken": ["x"]}}, {"marks": {"gpus": {"x": 1}}}, {"marks": {"gpus": {NOTHING: 0}}},
        {"marks": {"starts": {NOTHING: "soon"}}}, {"marks": []}, {"note": "x" * 4001},
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused(client, lab, pitch, changes):
    client.force_login(lab.head)

    answer = _save(client, pitch, **changes)

    assert (answer.status_code, answer.json()["code"], Scenario.objects.count()) == (400, "invalid", 0)


def test_the_document_of_the_api_tells_of_it(client, lab):
    client.force_login(lab.chief)

    told = client.get("/api/schema/").json()

    assert set(told["paths"]["/api/scenarios/"]) == {"get", "post"}
    assert set(told["paths"]["/api/scenarios/{id}/"]) == {"get", "delete"}
    assert set(told["components"]["schemas"]["MarksIn"]["properties"]) == {
        "taken", "ended", "ranks", "gpus", "models", "starts", "days", "keeps",
    }  # fmt: skip
