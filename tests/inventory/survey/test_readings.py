"""Readings: the newest one stays, history keeps all, unknown stays unknown, and the seconds between are added up."""

from datetime import UTC, date, datetime, timedelta

import pytest

from inventory.models import Gpu, Reading, ReadingHistory, UsageDay
from tests import factories
from tests.inventory.survey.seen import NOON, card, instance, later, said, silent, survey

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ten_seconds(settings):
    settings.POLL_INTERVAL_S = 10


@pytest.fixture
def node():
    return factories.node("n1", gpus=1, cards=0)


def usage():
    days = UsageDay.objects.order_by("on", "holder")
    return [(day.on.day, day.holder, day.busy_s, day.idle_s, day.unknown_s, day.util_pct_s) for day in days]


def test_a_reading_says_what_the_node_said_and_when_it_was_asked(node):
    made = survey(said(node, card(holder="apollo", util=63.0, generation=4, draining=True), sequence=7))

    reading = Reading.objects.get()
    assert (reading.survey, reading.requested_at, reading.boot_id, reading.sequence) == (made, NOON, "boot-1", 7)
    assert (reading.holder, reading.generation, reading.draining) == ("apollo", 4, True)
    assert (reading.util_pct, reading.mem_used_mib, reading.power_w, reading.temperature_c) == (63.0, 12, 70.5, 30.0)
    assert (reading.running, reading.processes, reading.reasons) == (0, [], {})
    assert (made.nodes_asked, made.nodes_answered, made.gpus_seen) == (1, 1, 1)


def test_what_is_not_known_is_null_with_its_reason_and_never_zero(node):
    survey(said(node, card(util=None, processes=None)))

    reading = Reading.objects.get()
    assert (reading.util_pct, reading.running, reading.processes) == (None, None, None)
    assert reading.reasons == {"util_pct": "not supported"}


def test_values_that_the_probe_measured_long_ago_are_unknown(node):
    survey(said(node, card(util=0.0, age_s=30.5)))

    reading = Reading.objects.get()
    assert (reading.util_pct, reading.mem_used_mib) == (None, None)
    assert set(reading.reasons.values()) == {"stale"}


def test_an_instance_without_utilisation_is_unknown_and_hangs_on_its_card(node):
    parent = card("GPU-a")
    survey(said(node, instance("MIG-1", parent), parent))

    gpu = Gpu.objects.get(uuid="MIG-1")
    assert (gpu.parent.uuid, gpu.kind, gpu.reading.util_pct) == ("GPU-a", "mig", None)


def test_a_newer_reading_replaces_the_one_before_and_history_keeps_both(node):
    survey(said(node, card(holder="apollo", util=1.0)))
    survey(said(node, card(holder="borealis", util=2.0), at=later(10)), at=later(10))

    assert list(Reading.objects.values_list("holder", "requested_at")) == [("borealis", later(10))]
    assert list(ReadingHistory.objects.order_by("requested_at").values_list("holder", "util_pct")) == [
        ("apollo", 1.0),
        ("borealis", 2.0),
    ]


@pytest.mark.parametrize("at", [later(-10), NOON], ids=["asked before", "asked at the same instant"])
def test_an_older_answer_changes_nothing_even_if_it_comes_last(node, at):
    survey(said(node, card(holder="apollo", util=1.0), card("GPU-b", 1)))

    survey(said(node, card(holder="borealis", util=99.0), at=at), at=at)

    assert list(Reading.objects.order_by("gpu").values_list("holder", "requested_at")) == [("apollo", NOON), ("", NOON)]
    assert ReadingHistory.objects.count() == 2
    assert UsageDay.objects.count() == 0
    assert Gpu.objects.filter(lost_at=None).count() == 2
    node.refresh_from_db()
    assert node.answered_at == NOON


@pytest.mark.parametrize("sequence", [6, 7])
def test_an_answer_that_was_kept_on_the_way_is_not_believed(node, sequence):
    survey(said(node, card(holder="apollo"), sequence=7))

    survey(said(node, card(holder="borealis"), at=later(10), sequence=sequence), at=later(10))

    assert list(Reading.objects.values_list("holder", "requested_at")) == [("apollo", NOON)]


def test_a_new_boot_counts_its_answers_anew(node):
    survey(said(node, card(holder="apollo"), sequence=7000))

    survey(said(node, card(holder="borealis"), at=later(10), boot="boot-2", sequence=1), at=later(10))

    assert Reading.objects.get().holder == "borealis"
    node.refresh_from_db()
    assert node.boot_id == "boot-2"


@pytest.mark.parametrize(
    ("util", "used"),
    [(40.0, (10.0, 0.0, 0.0, 400.0)), (0.0, (0.0, 10.0, 0.0, 0.0)), (None, (0.0, 0.0, 10.0, 0.0))],
    ids=["busy", "idle", "unknown"],
)
def test_the_seconds_between_readings_go_to_the_holder_before_by_what_was_seen(node, util, used):
    survey(said(node, card(holder="apollo", util=util)))
    assert usage() == []

    survey(said(node, card(holder="borealis", util=100.0), at=later(10)), at=later(10))

    assert usage() == [(10, "apollo", *used)]


def test_seconds_of_a_day_add_up(node):
    for seconds, util in ((0, 50.0), (10, 100.0), (20, 0.0), (35, 0.0)):
        survey(said(node, card(holder="apollo", util=util), at=later(seconds)), at=later(seconds))

    assert usage() == [(10, "apollo", 20.0, 15.0, 0.0, 1500.0)]


def test_a_gap_between_readings_is_unknown_beyond_three_intervals(node):
    survey(said(node, card(holder="apollo", util=0.0)))

    survey(said(node, card(holder="apollo", util=0.0), at=later(100)), at=later(100))

    assert usage() == [(10, "apollo", 0.0, 30.0, 70.0, 0.0)]


def test_a_span_is_split_at_midnight_and_a_long_gap_over_its_days(node):
    evening = datetime(2026, 3, 10, 23, 59, 50, tzinfo=UTC)
    night = datetime(2026, 3, 12, 0, 0, 5, tzinfo=UTC)
    survey(said(node, card(holder="apollo", util=80.0), at=evening), at=evening)
    survey(said(node, card(holder="apollo", util=0.0), at=evening + timedelta(seconds=15)), at=evening)

    survey(said(node, card(holder="apollo", util=0.0), at=night), at=night)

    assert usage() == [
        (10, "apollo", 10.0, 0.0, 0.0, 800.0),
        (11, "apollo", 5.0, 30.0, 86_400.0 - 35.0, 400.0),
        (12, "apollo", 0.0, 0.0, 5.0, 0.0),
    ]


def test_every_second_between_two_readings_is_in_the_ledger_once(node):
    begin = datetime(2026, 3, 9, 5, 0, 0, 250_000, tzinfo=UTC)
    instants = [begin + timedelta(seconds=second) for second in (0, 9.5, 20.25, 71, 90_000, 90_003)]
    for number, at in enumerate(instants):
        util = (None, 0.0, 55.0)[number % 3]
        survey(said(node, card(holder=("apollo", "")[number % 2], util=util), at=at), at=at)

    total = sum(busy + idle + unknown for _day, _holder, busy, idle, unknown, _weight in usage())
    assert total == pytest.approx((instants[-1] - instants[0]).total_seconds())


def test_a_holder_that_nobody_knew_is_unknown_use_of_nobody(node):
    survey(said(node, card(holder="apollo", util=90.0)))
    Reading.objects.update(holder=None)

    survey(said(node, card(holder="apollo", util=90.0), at=later(10)), at=later(10))

    assert usage() == [(10, "", 0.0, 0.0, 10.0, 0.0)]


def test_a_silent_node_keeps_its_readings_and_they_age(node):
    survey(said(node, card(holder="apollo", util=90.0)))

    survey(silent(node), at=later(10))

    assert list(Reading.objects.values_list("holder", "requested_at")) == [("apollo", NOON)]
    assert usage() == []


def test_readings_of_a_day_without_a_partition_are_kept_too(node):
    long_past = datetime(2019, 5, 5, 12, tzinfo=UTC)

    survey(said(node, card(), at=long_past), at=long_past)

    assert [row.requested_at.date() for row in ReadingHistory.objects.all()] == [date(2019, 5, 5)]
