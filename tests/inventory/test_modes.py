"""Modes: wanted by people with a reason, told to the nodes that answer until they say so themselves."""

from datetime import timedelta

import pytest
from django.utils import timezone

from inventory import modes, queries
from inventory.drivers import loop
from inventory.errors import WrongMode
from inventory.models import Event, Finding, Intrusion, Node
from tests import factories
from tests.inventory.simulated import simulated


def joined(name: str, **fields):
    fields = {"mode": "observe", "said_mode": "observe", "island": "pod-1", "address": f"https://{name}:8443"} | fields
    return factories.node(name, gpus=1, **fields)


def to_tell(now=None) -> list[str]:
    return [node.name for node in modes.nodes_to_tell(now=now or timezone.now())]


def test_a_mode_is_wanted_with_a_reason_and_nodes_that_have_it_are_left_alone(db):
    first, second = joined("a"), joined("b", mode="shadow", mode_since=timezone.now())

    changed = modes.set_mode(nodes=[first, second], mode="shadow", by="ops", reason="a week to look")

    event = Event.objects.get()
    assert ([node.name for node in changed], Node.objects.filter(mode="shadow").count()) == (["a"], 2)
    assert (event.verb, event.subject_label, event.reason) == ("node.mode", "a", "a week to look")
    assert event.facts == {"before": "observe", "after": "shadow"}


def test_a_mode_that_nobody_chose_is_chosen_by_naming_it(db):
    node = joined("a", mode="enforce", said_mode="observe")
    before = to_tell()

    modes.set_mode(nodes=[node], mode="enforce", by="ops", reason="as it stands")

    assert (before, to_tell()) == ([], ["a"])


def test_nodes_without_modes_cannot_be_put_into_one(db):
    retired, other = joined("a", retired_at=timezone.now()), joined("b", driver="dcgm")

    with pytest.raises(WrongMode):
        modes.set_mode(nodes=[retired, other], mode="enforce", by="ops", reason="now")

    assert (set(Node.objects.values_list("mode", flat=True)), Event.objects.count()) == ({"observe"}, 0)


def test_only_those_that_answer_and_work_otherwise_are_told(db):
    now = timezone.now()
    joined("as wanted")
    joined("otherwise", mode="shadow", mode_since=now)
    joined("silent", mode="shadow", mode_since=now, silent_since=now, fault="node_unreachable")
    joined("never heard", mode="shadow", mode_since=now, said_mode="")
    joined("not joined", mode="shadow", mode_since=now, address="")
    joined("nobody chose", mode="enforce", mode_since=None)
    joined("exporter", mode="shadow", mode_since=now, driver="dcgm")

    assert to_tell() == ["otherwise"]


def test_one_that_refuses_for_long_is_told_again_every_sixth_time(db):
    now = timezone.now()
    joined("a", mode="enforce", mode_since=now - timedelta(hours=1))

    told = [to_tell(now + timedelta(seconds=10 * tick)) for tick in range(12)]

    assert sum(bool(names) for names in told) == 2


@pytest.mark.django_db(transaction=True)
def test_told_nodes_say_so_at_the_next_survey(tmp_path):
    with simulated(tmp_path, nodes=2) as world:
        for name in ("n0", "n1"):
            told = world.node(name)
            secrets = {"token": told.token, "certificate_sha256": told.certificate_sha256}
            joined(name, said_mode="enforce", mode_since=timezone.now(), address=told.address, **secrets)
        world.control.kill("n1")

        taken = modes.tell_modes()

        [(_name, said)] = loop.observe_many([world.node("n0")])
        assert (taken, said.observation.mode) == (1, "observe")
        loop.close()


def test_nobody_to_tell_is_no_work(db, django_assert_num_queries):
    joined("a")

    with django_assert_num_queries(1):
        assert modes.tell_modes() == 0


def _intruded(node, user: str, *, ago: timedelta, **fields):
    at = timezone.now() - ago
    gpu = node.gpus.get()
    return Intrusion.objects.create(gpu=gpu, user=user, mode="shadow", first_at=at, last_at=at, **fields)


def test_islands_show_their_modes_and_who_was_there_without_a_right(db, django_assert_num_queries):
    first, second = joined("a"), joined("b", mode="shadow")
    joined("c", island="pod-2", mode="enforce", said_mode="enforce")
    factories.node("not joined", island="pod-1")
    for node in (first, second):
        _intruded(node, "eve", ago=timedelta(days=1))
    _intruded(first, "mallory", ago=timedelta(days=8))

    with django_assert_num_queries(2):
        rows = queries.island_modes()

    assert [(row.island, row.nodes, row.observe, row.shadow, row.enforce, row.otherwise) for row in rows] == [
        ("pod-1", 2, 1, 1, 0, 1),
        ("pod-2", 1, 0, 0, 1, 0),
    ]
    assert [(row.users, row.gpus) for row in rows] == [(1, 2), (0, 0)]
    assert [row.user for row in queries.would_have_ended("pod-1")] == ["eve", "eve"]


def test_what_is_missing_on_the_nodes_is_counted_by_code(db):
    now = timezone.now()
    nodes = [joined("a"), joined("b"), joined("c", island="pod-2")]
    for node in nodes:
        fields = {"severity": "warn", "since": now, "seen_at": now}
        Finding.objects.create(node=node, code="device_mode", evidence="0666", **fields)
        Finding.objects.create(node=node, gpu=node.gpus.get(), code="ecc", evidence="7", **fields)
    Finding.objects.create(node=nodes[0], code="over", ended_at=now, **fields)

    assert queries.missing_for_enforcement("pod-1") == [{"code": "device_mode", "nodes": 2, "evidence": "0666"}]
