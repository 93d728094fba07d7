"""Cordons: set with a reason and an end, lifted, one at a time, each in the trail."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from inventory import cordons, queries, trail
from inventory.errors import WrongCordon
from inventory.models import Cordon, Event
from tests import factories

LIMIT_S = 20  # takes milliseconds; the machine may be busy


@pytest.fixture
def node(db):
    return factories.node("gpu-1")


def test_a_cordon_holds_from_now_until_its_end_and_stands_in_the_trail(node):
    until = timezone.now() + timedelta(days=2)

    cordons.set_cordon(node=node, by="tests", reason="fan 3", until=until)

    outage = queries.outages()[0]
    event = Event.objects.get()
    assert (outage.ends_at, outage.gpus) == (until, 8)
    assert (event.verb, event.subject_label, event.reason, event.actor) == ("cordon.set", "gpu-1", "fan 3", "tests")


def test_a_second_cordon_in_that_time_is_refused_and_says_so(node):
    cordons.set_cordon(node=node, by="tests", reason="fan 3")

    with pytest.raises(WrongCordon) as refused:
        cordons.set_cordon(node=node, by="tests", reason="again")

    assert (refused.value.facts, Cordon.objects.count(), Event.objects.count()) == ({"node": "gpu-1"}, 1, 1)


def test_one_that_would_run_into_a_planned_one_is_refused(node):
    soon = timezone.now() + timedelta(days=1)
    factories.cordon(node, since=soon)

    with pytest.raises(WrongCordon):
        cordons.set_cordon(node=node, by="tests", reason="open end")
    cordons.set_cordon(node=node, by="tests", reason="until then", until=soon)

    assert Cordon.objects.count() == 2


def test_an_end_in_the_past_is_refused(node):
    with pytest.raises(WrongCordon):
        cordons.set_cordon(node=node, by="tests", reason="late", until=timezone.now())

    assert Cordon.objects.count() == 0


def test_lifted_it_is_over_but_not_forgotten(node):
    cordons.set_cordon(node=node, by="tests", reason="fan 3")

    cordons.lift_cordon(node=node, by="tests", reason="replaced")

    cordon = Cordon.objects.get()
    assert (queries.outages(), cordon.reason, cordon.during.upper <= timezone.now()) == ([], "fan 3", True)
    assert list(Event.objects.values_list("verb", "reason")) == [("cordon.lifted", "replaced"), ("cordon.set", "fan 3")]


def test_there_is_nothing_to_lift_where_none_is_in_force(node):
    factories.cordon(node, since=timezone.now() + timedelta(days=1))

    with pytest.raises(WrongCordon):
        cordons.lift_cordon(node=node, by="tests")

    assert Event.objects.count() == 0


def test_after_lifting_it_can_be_cordoned_again(node):
    for _turn in range(2):
        cordons.set_cordon(node=node, by="tests", reason="fan 3")
        cordons.lift_cordon(node=node, by="tests")

    assert Cordon.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_one_wins_and_the_other_is_told(monkeypatch):
    node = factories.node("gpu-1")
    inside, may_go = threading.Event(), threading.Event()
    record = trail.record_many

    def held_up(*args, **facts):
        inside.set()
        assert may_go.wait(LIMIT_S)
        return record(*args, **facts)

    monkeypatch.setattr(cordons.trail, "record_many", held_up)

    def cordon(reason: str) -> str:
        try:
            cordons.set_cordon(node=node, by="tests", reason=reason)
        except WrongCordon as refused:
            return refused.code
        finally:
            connection.close()
        return reason

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cordon, "first")
        assert inside.wait(LIMIT_S)
        second = pool.submit(cordon, "second")
        _wait_until_blocked()
        may_go.set()
        outcomes = [first.result(LIMIT_S), second.result(LIMIT_S)]

    assert outcomes == ["first", "wrong_cordon"]
    assert (Cordon.objects.count(), Event.objects.count()) == (1, 1)


def _wait_until_blocked() -> None:
    deadline_s = time.monotonic() + LIMIT_S
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    with connection.cursor() as cursor:
        while True:
            cursor.execute(waits)
            if cursor.fetchone()[0]:
                return
            assert time.monotonic() < deadline_s, "nobody waits for the lock"
            time.sleep(0.01)
