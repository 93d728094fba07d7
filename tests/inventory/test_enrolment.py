"""Enrolment: one code, one agent, once; tokens renewed so that no stop in between locks anybody out; revoked nodes."""

from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from inventory import enrolment
from inventory.drivers import loop
from inventory.drivers.base import Observed
from inventory.enrolment import Newcomer
from inventory.errors import BadJoinCode, BadToken, NodeUnreachable, WrongEnrolment
from inventory.models import Event, JoinCode, Node
from inventory.queries import address_of, enrolment_of
from tests import factories
from tests.inventory.simulated import simulated
from tests.races import Window, at_once, kinds

TOKEN = "t" * 43
AGENT = Newcomer("https://10.0.0.7:8443", "ab" * 32, TOKEN, "1.0")


@pytest.fixture
def node(db):
    return factories.node("gpu-1")


def code_for(node, **fields) -> str:
    return enrolment.make_code(node=node, by="ops", **fields)[1]


def told(verb: str) -> list[tuple[str, str, dict]]:
    return [(event.subject_label, event.actor, event.facts) for event in Event.objects.filter(verb=verb)]


def standing(node) -> tuple[str, str, str]:
    node.refresh_from_db()
    return (node.address, node.certificate_sha256, node.token)


def test_a_code_is_told_once_and_only_its_digest_is_kept(node):
    row, code = enrolment.make_code(node=node, by="ops")

    assert len(code) == 40
    assert code not in str(list(JoinCode.objects.values())) + str(told("node.code_made"))
    assert (row.made_by, row.expires_at - row.made_at) == ("ops", timedelta(hours=24))


def test_who_joins_is_spoken_to_there_and_only_looks(node):
    enrolment.join(code=code_for(node), newcomer=AGENT)

    node.refresh_from_db()
    [(label, actor, facts)] = told("node.joined")
    assert standing(node) == ("https://10.0.0.7:8443", "ab" * 32, TOKEN)
    assert (node.mode, node.driver, JoinCode.objects.get().used_at is not None) == ("observe", "agent", True)
    assert (label, actor, facts) == (
        "gpu-1",
        "enrolment",
        {
            "address": ["", "https://10.0.0.7:8443"],
            "certificate_sha256": "ab" * 32,
            "mode": "observe",
            "code_made_by": "ops",
            "agent": "1.0",
        },
    )


def test_a_node_that_joins_anew_keeps_the_mode_that_somebody_chose(node):
    Node.objects.update(mode="shadow", mode_since=timezone.now())

    enrolment.join(code=code_for(node), newcomer=AGENT)

    assert Node.objects.get().mode == "shadow"


def test_the_same_agent_may_ask_again_and_nobody_else(node):
    code = code_for(node)
    enrolment.join(code=code, newcomer=AGENT)

    again = enrolment.join(code=code, newcomer=AGENT)
    for other in (replace(AGENT, token="u" * 43), replace(AGENT, certificate_sha256="cd" * 32)):
        with pytest.raises(BadJoinCode):
            enrolment.join(code=code, newcomer=other)

    assert (again, standing(node)[2], len(told("node.joined"))) == (node, TOKEN, 1)


def test_a_code_that_is_unknown_revoked_old_or_of_a_retired_node_is_refused_alike(node):
    now = timezone.now()
    revoked, old = code_for(node), code_for(factories.node("gpu-2"))
    retired = code_for(factories.node("gpu-3"))
    enrolment.revoke_codes(node=node, by="ops")
    JoinCode.objects.filter(node__name="gpu-2").update(expires_at=now)
    Node.objects.filter(name="gpu-3").update(retired_at=now)

    refusals = []
    for code in ("0" * 40, "", "\0", revoked, old, retired):
        with pytest.raises(BadJoinCode) as refused:
            enrolment.join(code=code, newcomer=AGENT)
        refusals.append((refused.value.code, refused.value.message, refused.value.args))

    assert len(set(refusals)) == 1
    assert Node.objects.exclude(token="").count() == JoinCode.objects.exclude(used_at=None).count() == 0


def test_a_new_code_ends_the_one_before(node):
    first, second = code_for(node), code_for(node)

    with pytest.raises(BadJoinCode):
        enrolment.join(code=first, newcomer=AGENT)
    enrolment.join(code=second, newcomer=AGENT)

    assert standing(node)[2] == TOKEN


def test_two_nodes_are_not_spoken_to_at_one_address_and_the_code_stays_good(node):
    factories.node("gpu-2", address=AGENT.address)
    code = code_for(node)

    with pytest.raises(WrongEnrolment):
        enrolment.join(code=code, newcomer=AGENT)
    enrolment.join(code=code, newcomer=replace(AGENT, address="https://10.0.0.8:8443"))

    assert standing(node)[0] == "https://10.0.0.8:8443"


def test_a_retired_node_gets_no_code_and_there_is_none_to_revoke(node):
    with pytest.raises(WrongEnrolment):
        enrolment.revoke_codes(node=node, by="ops")
    Node.objects.update(retired_at=timezone.now())

    with pytest.raises(WrongEnrolment):
        code_for(node)

    assert (JoinCode.objects.count(), Event.objects.count()) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_of_two_agents_with_one_code_one_joins(monkeypatch):
    node, window = factories.node("gpu-1"), Window()
    code = code_for(node)
    # Both have read the code as unused by then.
    monkeypatch.setattr(enrolment, "_locked", window.before(enrolment._locked))
    agents = [replace(AGENT, token=letter * 43, address=f"https://{letter}:8443") for letter in "ab"]

    outcomes = at_once(*(lambda agent=agent: enrolment.join(code=code, newcomer=agent) for agent in agents))

    winner = next(agent for agent, outcome in zip(agents, outcomes, strict=True) if isinstance(outcome, Node))
    assert (window.met, kinds(outcomes)) == (True, ["BadJoinCode", "Node"])
    assert (standing(node)[2], len(told("node.joined"))) == (winner.token, 1)


def test_a_revoked_node_is_forgotten_and_its_page_knows_why(node):
    enrolment.join(code=code_for(node), newcomer=AGENT)
    late = code_for(node)

    enrolment.revoke_node(node=node, by="ops", reason="sold")

    stands = enrolment_of(node)
    assert standing(node) == ("", "", "")
    assert (stands.joined, stands.code, stands.last.verb, stands.last.reason) == (False, None, "node.revoked", "sold")
    with pytest.raises(BadJoinCode):
        enrolment.join(code=late, newcomer=AGENT)
    with pytest.raises(WrongEnrolment):
        enrolment.revoke_node(node=node, by="ops", reason="again")


def test_secrets_stand_in_no_repr_and_no_event(node):
    code = code_for(node)
    enrolment.join(code=code, newcomer=AGENT)
    node.refresh_from_db()

    said = repr(AGENT) + repr(address_of(node)) + repr(node) + str(list(Event.objects.values()))

    assert (TOKEN in said, code in said) == (False, False)


@pytest.fixture
def joined(tmp_path, transactional_db):
    """A row whose agent is a simulated one, and what happens to it."""
    with simulated(tmp_path) as world:
        told = world.node("n0")
        node = factories.node(
            "n0", cards=0, address=told.address, token=told.token, certificate_sha256=told.certificate_sha256
        )
        yield node, world
    loop.close()


def asked(node) -> object:
    """What the node answers to the portal's token as it stands."""
    node.refresh_from_db()
    [(_name, said)] = loop.observe_many([address_of(node)])
    return said


def test_a_new_token_is_shared_and_the_old_one_is_good_no_longer(joined):
    node, world = joined

    enrolment.rotate_token(node=node, by="ops")

    assert isinstance(asked(node), Observed)
    [(_name, said)] = loop.observe_many([world.node("n0")])
    assert (type(said), told("node.token_renewed")) == (BadToken, [("n0", "ops", {})])


class Stopped(BaseException):
    """The portal's process ends here."""


@pytest.mark.parametrize("step", ["before the node is told", "after the node was told", "before the row is written"])
def test_wherever_a_renewal_stops_the_portal_is_not_locked_out(joined, monkeypatch, step):
    node, _world = joined

    def stop(*args, **kwargs):
        raise Stopped

    def tell_and_stop(*args):
        tell(*args)
        raise Stopped

    tell = enrolment._tell_token
    with monkeypatch.context() as patched, pytest.raises(Stopped):
        if step == "before the node is told":
            patched.setattr(enrolment, "_tell_token", stop)
        elif step == "after the node was told":
            patched.setattr(enrolment, "_tell_token", tell_and_stop)
        else:
            patched.setattr(enrolment.trail, "record", stop)
        enrolment.rotate_token(node=node, by="ops")

    assert isinstance(asked(node), Observed)
    enrolment.rotate_token(node=node, by="ops")
    assert isinstance(asked(node), Observed)


def test_a_silent_node_keeps_its_token(joined):
    node, world = joined
    world.control.kill("n0")

    with pytest.raises(NodeUnreachable):
        enrolment.rotate_token(node=node, by="ops")

    world.control.revive("n0")
    assert isinstance(asked(node), Observed)
    assert told("node.token_renewed") == []


def test_a_node_that_never_joined_has_no_token_to_renew(node):
    with pytest.raises(WrongEnrolment):
        enrolment.rotate_token(node=node, by="ops")


def test_of_two_renewals_at_once_one_waits_for_its_turn(joined, monkeypatch):
    node, _world = joined
    window = Window()
    monkeypatch.setattr(enrolment, "_tell_token", window.after(enrolment._tell_token))

    outcomes = at_once(*[lambda: enrolment.rotate_token(node=node, by="ops")] * 2)

    assert (window.met, kinds(outcomes)) == (False, ["NoneType", "WrongEnrolment"])
    assert isinstance(asked(node), Observed)


def test_the_command_makes_a_code_for_each_node_or_none_at_all(db):
    for name in ("gpu-1", "gpu-2"):
        factories.node(name)
    out = StringIO()

    call_command("join_code", "gpu-1", "gpu-2", hours=2, stdout=out)
    with pytest.raises(CommandError, match="Nobody has declared: gpu-9"):
        call_command("join_code", "gpu-1", "gpu-9")

    names, codes = zip(*(line.split() for line in out.getvalue().splitlines()), strict=True)
    assert (names, JoinCode.objects.filter(revoked_at=None).count()) == (("gpu-1", "gpu-2"), 2)
    assert enrolment.join(code=codes[1], newcomer=AGENT).name == "gpu-2"


def test_the_administration_writes_a_token_and_never_shows_it(client, lab):
    node = factories.node("gpu-1", token=TOKEN, address="https://10.0.0.7:8443")
    lab.admin.is_staff = True
    lab.admin.save()
    client.force_login(lab.admin)
    address = f"/admin/inventory/node/{node.pk}/change/"
    told = {
        "name": "gpu-1", "model": node.model_id, "expected_gpus": 8, "driver": "agent", "labels": "{}",
        "address": node.address, "certificate_sha256": "", "site": "s1", "island": "",
    }  # fmt: skip

    page = client.get(address).content.decode()
    kept = client.post(address, told | {"token": ""})
    node.refresh_from_db()
    before = node.token
    written = client.post(address, told | {"token": "exporter-token"})
    node.refresh_from_db()

    told = [event.facts["changed"].get("token") for event in Event.objects.filter(verb="node.changed").order_by("pk")]
    assert (TOKEN in page, kept.status_code, before, written.status_code) == (False, 302, TOKEN, 302)
    assert (node.token, node.mode) == ("exporter-token", "enforce")
    assert told == [None, "changed"]
