"""Which nodes a poll asks, in which slices, how often the silent ones, and one survey of a slice at a time."""

import threading
from collections import Counter
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, connections

from inventory import tasks
from inventory.drivers import loop
from inventory.models import Event, Node, Reading, Survey
from inventory.survey import due_nodes, slices_in_turn, store_survey, survey_slice
from inventory.survey import slices as slices_module
from inventory.survey import store as store_module
from tests import factories
from tests.inventory.survey.seen import NOON, card, later, said, survey

BARRIER_S = 1.0  # a thread that the guard keeps out of the window does not come; the other waits that long


@pytest.fixture(autouse=True)
def ten_seconds(settings):
    settings.POLL_INTERVAL_S = 10


@pytest.fixture
def asked(monkeypatch):
    """The names of the nodes that were asked, instead of asking them."""
    names = []

    def observe_many(addresses):
        names.extend(address.name for address in addresses)
        return [(address.name, said(Node.objects.get(name=address.name)).said) for address in addresses]

    monkeypatch.setattr(loop, "observe_many", observe_many)
    return names


def polled(name="", **fields):
    return factories.node(name, gpus=1, cards=0, **{"address": "https://10.0.0.1:9443", **fields})


@pytest.mark.django_db
def test_nodes_with_an_address_that_are_not_retired_are_asked():
    polled("asked")
    polled("retired", retired_at=NOON)
    polled("without", address="")

    assert [node.name for node in due_nodes(0, 1, now=NOON)] == ["asked"]


@pytest.mark.django_db
def test_slices_share_the_nodes_out_and_a_node_stays_in_its_slice():
    nodes = [polled() for _ in range(7)]

    parts = [[node.pk for node in due_nodes(number, 3, now=NOON)] for number in range(3)]

    assert sorted(pk for part in parts for pk in part) == [node.pk for node in nodes]
    assert {len(part) for part in parts} == {2, 3}
    nodes[3].delete()
    assert due_nodes(nodes[0].pk % 3, 3, now=NOON)[0] == nodes[0]


@pytest.mark.django_db
def test_there_is_a_slice_for_each_so_many_nodes_and_every_slice_is_first_in_turn(monkeypatch):
    monkeypatch.setattr(slices_module, "SLICE_NODES", 2)
    assert slices_in_turn(now=NOON) == [0]
    for _ in range(5):
        polled()

    turns = [slices_in_turn(now=later(10 * tick)) for tick in range(3)]

    assert [sorted(turn) for turn in turns] == [[0, 1, 2]] * 3
    assert {turn[0] for turn in turns} == {0, 1, 2}


@pytest.mark.django_db
def test_a_node_that_is_silent_for_long_is_asked_in_every_sixth_interval():
    fine = polled("fine")
    polled("since a minute", silent_since=NOON - timedelta(minutes=1), fault="node_unreachable")
    for number in range(6):
        polled(f"long {number}", silent_since=NOON - timedelta(hours=1), fault="node_unreachable")

    asked = Counter(node.name for tick in range(6) for node in due_nodes(0, 1, now=later(10 * tick)))

    assert asked.pop(fine.name) == asked.pop("since a minute") == 6
    assert asked == {f"long {number}": 1 for number in range(6)}


@pytest.mark.django_db
def test_a_slice_is_surveyed_and_an_empty_one_leaves_no_row(asked):
    node = polled("n1")

    assert survey_slice((node.pk + 1) % 2, 2) is None
    made = survey_slice(node.pk % 2, 2)

    assert asked == ["n1"]
    assert (made.nodes_asked, Survey.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_a_slice_that_somebody_is_at_is_left_to_them(asked):
    polled("n1")
    with closing(connections.create_connection("default")) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, 0)", [slices_module.SURVEY_LOCK])
        assert survey_slice(0, 1) is None
        cursor.execute("SELECT pg_advisory_unlock(%s, 0)", [slices_module.SURVEY_LOCK])
    assert survey_slice(0, 1) is not None
    assert survey_slice(0, 1) is not None
    assert asked == ["n1", "n1"]


@pytest.mark.django_db(transaction=True)
def test_a_survey_that_fails_gives_its_slice_back(monkeypatch):
    polled("n1")

    def broken(addresses):
        raise RuntimeError

    monkeypatch.setattr(loop, "observe_many", broken)
    with pytest.raises(RuntimeError):
        survey_slice(0, 1)

    with closing(connections.create_connection("default")) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, 0)", [slices_module.SURVEY_LOCK])
        assert cursor.fetchone() == (True,)


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_nodes_are_asked(monkeypatch):
    polled("n1")
    seen = []

    def observe_many(addresses):
        seen.append(connection.in_atomic_block)
        return [(address.name, said(Node.objects.get(name=address.name)).said) for address in addresses]

    monkeypatch.setattr(loop, "observe_many", observe_many)
    survey_slice(0, 1)

    assert seen == [False]


@pytest.mark.django_db(transaction=True)
def test_of_two_surveys_of_one_node_at_once_the_newer_one_stands(monkeypatch):
    node = polled("n1")
    survey(said(node, card(holder="apollo", util=50.0)))
    answers = {seconds: said(node, card(holder="apollo", util=50.0), at=later(seconds)) for seconds in (10, 20)}
    meeting, real = threading.Barrier(2), store_module.write_gpus

    def meet_inside(*args, **options):
        with suppress(threading.BrokenBarrierError):
            meeting.wait(BARRIER_S)
        return real(*args, **options)

    monkeypatch.setattr(store_module, "write_gpus", meet_inside)

    def store(seconds):
        try:
            store_survey([answers[seconds]], started_at=later(seconds))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=store, args=(seconds,)) for seconds in answers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert list(Reading.objects.values_list("requested_at", flat=True)) == [later(20)]


@pytest.mark.django_db
def test_a_poll_asks_one_slice_itself_and_leaves_the_others_to_whoever_is_free(asked, monkeypatch, settings):
    monkeypatch.setattr(slices_module, "SLICE_NODES", 2)
    for number in range(5):
        polled(f"n{number}")
    with tasks.poll.app.connection_for_read() as broker:
        queue = broker.SimpleQueue("poll")
        queue.clear()

        tasks.poll()

        sent = [queue.get(timeout=5) for _ in range(2)]
        for message in sent:
            message.ack()
        queue.close()
    others = [tuple(message.payload[0]) for message in sent]
    assert {message.headers["task"] for message in sent} == {"inventory.tasks.poll_slice"}
    for message in sent:
        expires = datetime.fromisoformat(message.headers["expires"])
        assert expires - datetime.now(UTC) < timedelta(seconds=settings.POLL_INTERVAL_S)
        wait = datetime.fromisoformat(message.headers["eta"]) - datetime.now(UTC)
        assert wait < timedelta(seconds=settings.POLL_INTERVAL_S / 10)
    for slice_no, slices in others:
        tasks.poll_slice(slice_no, slices)
    assert sorted(asked) == [f"n{number}" for number in range(5)]


@pytest.mark.django_db
def test_the_nodes_of_a_slice_are_asked_in_another_order_each_time(asked):
    names = {polled(f"n{number}").name for number in range(8)}

    for _ in range(4):
        survey_slice(0, 1)

    orders = {tuple(asked[first : first + 8]) for first in range(0, 32, 8)}
    assert len(orders) > 1
    assert all(set(order) == names for order in orders)


@pytest.mark.django_db
def test_the_ticks_of_the_trail_and_of_history_do_their_work():
    survey(said(polled("n1"), card()))
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS " + (tomorrow := partition_of_tomorrow()))

    tasks.seal()
    tasks.housekeeping()

    assert list(Event.objects.values_list("verb", "seal__position")) == [("gpu.appeared", 1)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [tomorrow])
        assert cursor.fetchone() == (True,)


def partition_of_tomorrow():
    return f"inventory_readinghistory_{datetime.now(UTC).date() + timedelta(days=1):%Y%m%d}"
