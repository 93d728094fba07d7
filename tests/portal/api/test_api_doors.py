"""The API's doors: who sees what, who may do what, tokens, and that each refusal is a problem with a stable code."""

import pytest
from django.test import Client

from allocations.models import Move, Pitch, Plan
from inventory.models import Cordon, Event
from portal.api import login
from tests import factories
from tests.portal.operation import world

EVERYBODY = ["chief-scientist", "ceo-applications", "ceo", "ops", "auditor", "admin", "lead", "pitcher", "stranger"]
ROLES = ["chief-scientist", "ceo-applications", "ceo", "ops", "auditor", "admin"]
OPEN = ["models", "nodes", "gpus", "projects", "pitches", "splits", "grants", "needs"]
FOR_ROLES = ["plans", "moves", "events"]
PROBLEM = "application/problem+json"
NOTHING = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def made(lab):
    return world(lab)


def _names(client, noun: str, key: str) -> list[str]:
    answer = client.get(f"/api/{noun}/").json()
    return sorted(row[key] for row in (answer["results"] if isinstance(answer, dict) else answer))


@pytest.mark.parametrize("person", EVERYBODY)
def test_facts_are_for_everybody_plans_and_the_trail_for_roles(client, made, lab, person):
    client.force_login(lab.everyone[person])

    statuses = {
        noun: client.get(f"/api/{noun}/").status_code
        for noun in (
            "models",
            "nodes",
            "gpus",
            "projects",
            "pitches",
            "splits",
            "grants",
            "needs",
            "plans",
            "moves",
            "events",
        )
    }

    for_roles = 200 if person in ROLES else 403
    assert statuses == {
        **dict.fromkeys(["models", "nodes", "gpus", "projects", "pitches", "splits", "grants", "needs"], 200),
        **dict.fromkeys(["plans", "moves", "events"], for_roles),
    }


@pytest.mark.parametrize(
    ("person", "sees"),
    [("stranger", []), ("pitcher", ["mine"]), ("applied-pitcher", ["theirs"]), ("chief-scientist", ["mine"]),
     ("ceo-applications", ["theirs"]), ("auditor", ["mine", "theirs"])],
)  # fmt: skip
def test_a_person_sees_the_same_pitches_as_on_the_pages_and_404_for_the_others(client, lab, person, sees):
    rows = {
        "mine": factories.submitted(lab.project, lab.pitcher, title="mine"),
        "theirs": factories.submitted(
            lab.applied_project, lab.applied_pitcher, title="theirs", roles=("ceo-applications",)
        ),
    }
    client.force_login(lab.everyone[person])

    found = {title: client.get(f"/api/pitches/{row.public_id}/").status_code for title, row in rows.items()}

    assert _names(client, "pitches", "title") == sees
    assert found == {title: 200 if title in sees else 404 for title in rows}


def test_grants_and_needs_of_others_are_not_there(client, made, lab):
    client.force_login(lab.applied_pitcher)

    addresses = [f"/api/grants/{made.need.public_id}/", f"/api/grants/{made.need.public_id}/end/",
                 f"/api/needs/{made.need.public_id}/propose/"]  # fmt: skip
    statuses = [
        client.get(addresses[0]).status_code,
        *(client.post(address, {"reason": "x"}, "application/json").status_code for address in addresses[1:]),
    ]

    assert (_names(client, "grants", "id"), _names(client, "needs", "grant"), statuses) == ([], [], [404, 404, 404])


@pytest.mark.parametrize("person", [name for name in EVERYBODY if name != "ops"])
def test_only_ops_plan_and_cordon(client, made, lab, person):
    client.force_login(lab.everyone[person])
    before = _rows()

    codes = {
        address: client.post(f"/api/{address}", body, "application/json").json()["code"]
        for address, body in _deeds(made).items()
    }

    # What a person may not see is not found; what may be seen but not done is not allowed.
    assert set(codes.values()) <= {"not_allowed", "not_found"}
    assert codes["nodes/gpu-1.lab/cordon/"] == "not_allowed"
    assert _rows() == before


def test_ops_do_each_of_them(client, made, lab):
    client.force_login(lab.ops)

    statuses = {
        address: client.post(f"/api/{address}", body, "application/json").status_code
        for address, body in _deeds(made).items()
    }

    assert list(statuses.values()) == [201, 201, 409, 200, 201, 200, 200]


def _deeds(made) -> dict[str, dict]:
    return {
        f"needs/{made.need.public_id}/propose/": {},
        f"projects/{made.ended.slug}/propose_release/": {},
        "plans/propose_repair/": {},
        f"plans/{made.plan.public_id}/commit/": {"generation": 0},
        f"plans/{made.plan.public_id}/undo/": {},
        f"nodes/{made.node.name}/cordon/": {"reason": "fan 3"},
        f"nodes/{made.node.name}/uncordon/": {},
    }


def _rows() -> tuple[int, ...]:
    return tuple(kind.objects.count() for kind in (Plan, Move, Cordon, Event, Pitch))


def test_nobody_gets_in_without_logging_in(client, made):
    answers = [
        client.get("/api/nodes/"),
        client.post(f"/api/plans/{made.plan.public_id}/commit/"),
        client.get("/api/schema/"),
    ]

    assert {(answer.status_code, answer.headers["Content-Type"], answer.json()["code"]) for answer in answers} == {
        (401, PROBLEM, "not_authenticated")
    }


def test_a_token_is_given_for_a_password_works_and_ends_with_the_logout(client, lab, monkeypatch):
    lab.pitcher.set_password("correct horse battery")
    lab.pitcher.save()
    given = client.post(
        "/api/auth/login/", {"username": "pitcher", "password": "correct horse battery"}, "application/json"
    )
    header = {"Authorization": f"Token {given.json()['token']}"}

    inside = client.get("/api/projects/", headers=header)
    out = client.post("/api/auth/logout/", headers=header)
    after = client.get("/api/projects/", headers=header)

    assert (given.status_code, inside.status_code, out.status_code, after.status_code) == (200, 200, 204, 401)


def test_a_wrong_password_is_a_problem_and_guessing_is_slowed(client, lab, monkeypatch):
    monkeypatch.setattr(login.LogInThrottle, "rate", "3/min")
    monkeypatch.setattr(login.LogInThrottle, "cache", _Cache())
    wrong = {"username": "pitcher", "password": "guess"}

    answers = [
        client.post("/api/auth/login/", wrong, "application/json", headers={"X-Forwarded-For": f"10.0.0.{number}"})
        for number in range(4)
    ]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [
        *[(401, "authentication_failed")] * 3, (429, "throttled")
    ]  # fmt: skip
    assert {answer.headers["Content-Type"] for answer in answers} == {PROBLEM}


class _Cache(dict):
    """A cache of this test alone."""

    def set(self, key: str, value: object, _timeout_s: float) -> None:
        self[key] = value


@pytest.mark.parametrize(
    ("method", "address", "body", "status", "code"),
    [
        ("get", "/api/nowhere/", None, 404, "not_found"),
        ("get", f"/api/pitches/{NOTHING}/", None, 404, "not_found"),
        ("get", "/api/nodes/none/", None, 404, "not_found"),
        ("get", "/api/plans/?before=x", None, 400, "invalid"),
        ("get", "/api/plans/?page_size=100000", None, 400, "invalid"),
        ("get", "/api/gpus/?doing=dancing", None, 400, "invalid"),
        ("get", "/api/events/?since=yesterday", None, 400, "invalid"),
        ("delete", "/api/nodes/gpu-1.lab/", None, 405, "method_not_allowed"),
        ("post", "/api/nodes/gpu-1.lab/cordon/", {}, 400, "invalid"),
        ("post", "/api/nodes/gpu-1.lab/cordon/", "{", 400, "parse_error"),
        ("post", "/api/nodes/gpu-1.lab/uncordon/", {}, 409, "wrong_cordon"),
        ("post", "/api/plans/propose_repair/", {}, 409, "nothing_to_plan"),
        ("post", "/api/splits/", {"starts_at": "2031-01-01T00:00:00Z", "percents": {}}, 403, "not_allowed"),
        ("post", "/api/pitches/", {"project": "nope"}, 400, "invalid"),
    ],
)
def test_each_refusal_is_a_problem_with_a_stable_code(client, made, lab, method, address, body, status, code):
    client.force_login(lab.ops)
    arguments = {} if body is None else {"data": body, "content_type": "application/json"}

    answer = getattr(client, method)(address, **arguments)

    told = answer.json()
    assert (answer.status_code, told["status"], told["code"]) == (status, status, code)
    assert answer.headers["Content-Type"] == PROBLEM
    assert {"type", "title", "detail"} <= set(told)


def test_another_body_than_json_is_refused_as_a_problem(client, made, lab):
    client.force_login(lab.ops)

    answer = client.post("/api/nodes/gpu-1.lab/cordon/", {"reason": "typed into a form"})

    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_a_session_without_its_csrf_token_does_nothing(made, lab):
    guarded = Client(enforce_csrf_checks=True)
    guarded.force_login(lab.ops)

    answer = guarded.post("/api/nodes/gpu-1.lab/cordon/", {"reason": "fan 3"}, "application/json")

    assert (answer.status_code, answer.json()["code"], Cordon.objects.count()) == (403, "permission_denied", 0)
