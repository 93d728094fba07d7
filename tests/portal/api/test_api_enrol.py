"""The door by which agents join, and what ops do about nodes and modes over the API."""

import pytest
from django.core.cache import cache
from django.utils import timezone

from inventory import enrolment
from inventory.models import Event, JoinCode, Node
from portal.api import enrol
from tests import factories

TOKEN = "t" * 43
SAID = {"port": 8443, "certificate_sha256": "ab" * 32, "token": TOKEN, "agent": "1.0"}


@pytest.fixture(autouse=True)
def _forgotten():
    cache.clear()
    yield
    cache.clear()


def join(client, code: str, **said):
    return client.post("/api/enrol/", {"code": code, **SAID, **said}, content_type="application/json")


def code_for(name: str) -> str:
    return enrolment.make_code(node=factories.node(name), by="ops")[1]


def test_an_agent_joins_without_a_login_and_is_spoken_to_where_it_came_from(client, db):
    answer = join(client, code_for("gpu-1"))

    node = Node.objects.get()
    assert (answer.status_code, answer.json()) == (
        200,
        {"node": "gpu-1", "address": "https://127.0.0.1:8443", "mode": "observe"},
    )
    assert (node.address, node.token, node.certificate_sha256) == ("https://127.0.0.1:8443", TOKEN, "ab" * 32)


@pytest.mark.parametrize(
    ("host", "address"), [("gpu-1.lab", "https://gpu-1.lab:8443"), ("fd00::7", "https://[fd00::7]:8443")]
)
def test_an_agent_may_name_where_it_is_found(client, db, host, address):
    answer = join(client, code_for("gpu-1"), host=host)

    assert (answer.status_code, Node.objects.get().address) == (200, address)


@pytest.mark.parametrize(
    "wrong",
    [
        {"host": "evil.example/path"},
        {"host": "user@evil.example"},
        {"host": "a b"},
        {"port": 0},
        {"port": 70_000},
        {"certificate_sha256": "ab"},
        {"token": "short"},
        {"token": "ä" * 43},
        {"agent": "x" * 41},
    ],
)
def test_what_cannot_be_is_refused_and_the_code_stays_good(client, db, wrong):
    answer = join(client, code_for("gpu-1"), **wrong)

    assert (answer.status_code, list(answer.json()["errors"])) == (400, list(wrong))
    assert (JoinCode.objects.get().used_at, Node.objects.get().token) == (None, "")


def test_every_bad_code_gets_the_same_answer(client, db):
    used, revoked = code_for("gpu-1"), code_for("gpu-2")
    join(client, used)
    JoinCode.objects.filter(node__name="gpu-2").update(revoked_at=timezone.now())

    answers = [join(client, code, token="u" * 43) for code in (used, revoked, "0" * 40, "x")]

    assert {(answer.status_code, answer.content) for answer in answers} == {(403, answers[0].content)}
    assert answers[0].json()["code"] == "bad_join_code"


def test_guessing_is_slowed_down(client, db, monkeypatch):
    monkeypatch.setattr(enrol.EnrolThrottle, "rate", "3/min")

    statuses = [join(client, "0" * 40).status_code for _try in range(4)]

    assert statuses == [403, 403, 403, 429]


def test_nothing_is_shown_there(client, db):
    assert client.get("/api/enrol/").status_code == 405


def test_ops_make_a_code_that_works_and_end_it_again(client, lab):
    factories.node("gpu-1")
    client.force_login(lab.ops)

    made = client.post("/api/nodes/gpu-1/join-code/", {"hours": 2}, content_type="application/json")
    ended = client.post("/api/nodes/gpu-1/revoke-code/", {}, content_type="application/json")

    assert (made.status_code, made.headers["Cache-Control"], ended.status_code) == (201, "no-store", 200)
    assert join(client, made.json()["code"]).status_code == 403


def test_ops_revoke_a_node_with_a_reason(client, lab):
    join(client, code_for("gpu-1"))
    client.force_login(lab.ops)

    without = client.post("/api/nodes/gpu-1/revoke/", {}, content_type="application/json")
    revoked = client.post("/api/nodes/gpu-1/revoke/", {"reason": "sold"}, content_type="application/json")

    assert (without.status_code, revoked.status_code, revoked.json()["joined"]) == (400, 200, False)
    assert Event.objects.get(verb="node.revoked").reason == "sold"


def test_a_token_is_not_renewed_behind_the_back_of_a_silent_node(client, lab):
    factories.node("gpu-1", address="https://127.0.0.1:1", token=TOKEN, certificate_sha256="ab" * 32)
    client.force_login(lab.ops)

    answer = client.post("/api/nodes/gpu-1/renew-token/")

    assert (answer.status_code, answer.json()["code"], Node.objects.get().token) == (503, "node_unreachable", TOKEN)


def test_ops_set_the_mode_of_an_island_or_of_nodes(client, lab):
    for name in ("gpu-1", "gpu-2"):
        factories.node(name, island="pod-1", address=f"https://{name}:1", mode="observe")
    client.force_login(lab.ops)

    both = _mode(client, island="pod-1", mode="shadow", reason="a week")
    one = _mode(client, nodes=["gpu-2"], mode="enforce", reason="ready")
    neither = _mode(client, mode="enforce", reason="ready")

    assert (both.json(), one.json(), neither.status_code) == (
        {"changed": ["gpu-1", "gpu-2"]},
        {"changed": ["gpu-2"]},
        400,
    )
    [island] = client.get("/api/modes/").json()
    assert {name: island[name] for name in ("island", "nodes", "observe", "shadow", "enforce")} == {
        "island": "pod-1",
        "nodes": 2,
        "observe": 0,
        "shadow": 1,
        "enforce": 1,
    }


def _mode(client, **said):
    return client.post("/api/modes/", said, content_type="application/json")


@pytest.mark.parametrize("login", ["chief-scientist", "ceo", "auditor", "admin", "lead", "stranger"])
def test_nobody_else_does_any_of_it(client, lab, login):
    factories.node("gpu-1", address="https://gpu-1:1", token=TOKEN, mode="observe")
    client.force_login(lab.everyone[login])
    deeds = ("join-code", "revoke-code", "renew-token", "revoke")

    statuses = [
        client.post(f"/api/nodes/gpu-1/{deed}/", {"reason": "x"}, content_type="application/json").status_code
        for deed in deeds
    ]

    assert [*statuses, _mode(client, nodes=["gpu-1"], mode="enforce", reason="x").status_code] == [403] * 5
    node = Node.objects.get()
    assert (node.token, node.mode, JoinCode.objects.count(), Event.objects.filter(subject_kind="node").count()) == (
        TOKEN,
        "observe",
        0,
        0,
    )
    assert TOKEN not in client.get("/api/nodes/").content.decode()
