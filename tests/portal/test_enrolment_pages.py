"""The pages on which ops let nodes join, end that, and say how far an island's agents go."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from inventory import enrolment
from inventory.models import Event, Finding, Intrusion, JoinCode, Node
from tests import factories

TOKEN = "t" * 43
NEWCOMER = enrolment.Newcomer("https://10.0.0.7:8443", "ab" * 32, TOKEN, "1.0")
CODE = re.compile(r"--code ([0-9a-f]{40})")


@pytest.fixture
def ops(client, lab):
    client.force_login(lab.ops)
    return client


@pytest.fixture
def node(lab):
    return factories.node("gpu-1.lab", island="pod-1", gpus=2)


def join(node) -> None:
    enrolment.join(code=enrolment.make_code(node=node, by="ops")[1], newcomer=NEWCOMER)


def shown(client, address: str) -> str:
    return client.get(address).content.decode()


def test_a_code_is_shown_once_works_and_stands_nowhere_else(ops, node):
    page = ops.post("/nodes/gpu-1.lab/join-code/")

    [code] = CODE.findall(page.content.decode())
    assert "no-store" in page.headers["Cache-Control"]
    assert code not in shown(ops, "/nodes/gpu-1.lab/") + shown(ops, "/trail/")
    assert enrolment.join(code=code, newcomer=NEWCOMER) == node


def test_an_open_code_is_shown_as_such_and_can_be_ended(ops, node):
    ops.post("/nodes/gpu-1.lab/join-code/")
    before = shown(ops, "/nodes/gpu-1.lab/")

    answer = ops.post("/nodes/gpu-1.lab/revoke-code/")

    assert ("A join code is open" in before, answer.status_code) == (True, 302)
    assert "A join code is open" not in shown(ops, "/nodes/gpu-1.lab/")
    assert ops.post("/nodes/gpu-1.lab/revoke-code/").status_code == 409


def test_the_page_of_a_node_says_how_it_stands_and_never_its_token(ops, node):
    never = shown(ops, "/nodes/gpu-1.lab/")
    join(node)
    Node.objects.update(said_mode="observe", mode="enforce")
    joined = shown(ops, "/nodes/gpu-1.lab/")
    ops.post("/nodes/gpu-1.lab/revoke/", {"reason": "sold"})
    revoked = shown(ops, "/nodes/gpu-1.lab/")

    assert "No agent has joined for this node" in never
    assert "It says that it looks only." in joined
    assert "Wanted is that it opens GPUs for their holders only" in joined
    assert TOKEN not in joined
    assert "sold. Its agent is not asked any more" in revoked


@pytest.mark.parametrize(
    ("fault", "says"),
    [("certificate_mismatch", "shows another certificate"), ("bad_token", "does not accept the portal&#x27;s token")],
)
def test_a_node_that_is_not_believed_any_more_says_what_to_do(ops, node, fault, says):
    join(node)
    Node.objects.update(fault=fault, silent_since=timezone.now())

    page = shown(ops, "/nodes/gpu-1.lab/")

    assert (says.replace("&#x27;", "'") in page.replace("&#x27;", "'"), "et it join anew" in page) == (True, True)


def test_a_revocation_without_a_reason_changes_nothing(ops, node):
    join(node)

    answer = ops.post("/nodes/gpu-1.lab/revoke/", {"reason": " "}, follow=True)

    assert "Say why" in answer.content.decode()
    assert Node.objects.get().token == TOKEN


def test_a_token_that_could_not_be_renewed_is_told_with_the_reason(ops, node):
    join(node)
    Node.objects.update(address="https://127.0.0.1:1")

    answer = ops.post("/nodes/gpu-1.lab/renew-token/", follow=True)

    assert "The token is as it was. gpu-1.lab:" in answer.content.decode()
    assert Node.objects.get().token == TOKEN


def test_an_islands_page_shows_what_enforcing_would_have_ended(ops, node):
    join(node)
    now = timezone.now()
    Intrusion.objects.create(
        gpu=node.gpus.first(), user="eve", mode="shadow", names=["python3"], first_at=now, last_at=now, readings=9
    )
    Finding.objects.create(
        node=node, code="device_mode", evidence="/dev/nvidia0 is 0666", severity="warn", since=now, seen_at=now
    )

    page = shown(ops, "/modes/island/?island=pod-1")

    assert [word in page for word in ("eve", "python3", "device_mode", "/dev/nvidia0 is 0666")] == [True] * 4


def test_enforcing_needs_its_box_and_nothing_typed_is_lost(ops, node):
    join(node)
    told = {"mode": "enforce", "reason": "the week is over"}

    without = ops.post("/modes/island/?island=pod-1", told)
    before = Node.objects.get().mode
    ticked = ops.post("/modes/island/?island=pod-1", told | {"confirmed": "on"})

    assert (without.status_code, "the week is over" in without.content.decode(), before) == (422, True, "observe")
    assert (ticked.status_code, Node.objects.get().mode) == (302, "enforce")
    assert Event.objects.get(verb="node.mode").reason == "the week is over"


def test_nodes_of_no_island_have_a_page_too_and_unknown_islands_have_none(ops, node):
    join(node)
    Node.objects.update(island="")

    assert ops.get("/modes/island/").status_code == 200
    assert ops.get("/modes/island/?island=nowhere").status_code == 404
    assert ops.post("/modes/island/?island=nowhere", {"mode": "observe", "reason": "x"}).status_code == 404


@pytest.mark.parametrize("login", ["chief-scientist", "ceo", "auditor", "admin", "lead", "stranger"])
def test_others_look_and_do_nothing(client, lab, node, login):
    join(node)
    client.force_login(lab.everyone[login])
    events = Event.objects.count()
    told = {"mode": "enforce", "reason": "x", "confirmed": "on"}

    looks = [client.get(address).status_code for address in ("/modes/", "/modes/island/?island=pod-1")]
    deeds = [
        client.post(f"/nodes/gpu-1.lab/{deed}/", {"reason": "x"}).status_code
        for deed in ("join-code", "revoke-code", "renew-token", "revoke")
    ]

    assert (looks, deeds, client.post("/modes/island/?island=pod-1", told).status_code) == ([200] * 2, [403] * 4, 403)
    assert (Node.objects.get().mode, JoinCode.objects.count(), Event.objects.count()) == ("observe", 1, events)
    assert "Make a join code" not in shown(client, "/nodes/gpu-1.lab/")


@pytest.mark.parametrize("rows", [1, 3])
def test_the_pages_ask_as_often_for_many_rows_as_for_one(ops, lab, rows, django_assert_num_queries):
    for number in range(rows):
        node = factories.node(f"n{number}", island=f"pod-{number}", address=f"https://n{number}:1", gpus=1)
        at = timezone.now() - timedelta(hours=1)
        Intrusion.objects.create(gpu=node.gpus.get(), user="eve", mode="shadow", first_at=at, last_at=at)
    Node.objects.update(island="pod-0")

    with django_assert_num_queries(LIST_QUERIES):
        ops.get("/modes/")
    with django_assert_num_queries(ISLAND_QUERIES):
        ops.get("/modes/island/?island=pod-0")


LIST_QUERIES = 7
ISLAND_QUERIES = 10
