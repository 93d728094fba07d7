"""Use by five minutes, hours and days: every second once, a gap unknown, and the same from the same readings."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.db import connection
from django.utils import timezone

from inventory import rollups
from inventory.models import ReadingHistory, UsageDay, UsageFiveMinutes, UsageHour
from inventory.rollups import recompute, roll_up
from inventory.survey import keep_history
from tests import factories, races
from tests.inventory.spans import read
from tests.inventory.survey.seen import NOON, later

pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.fixture(autouse=True)
def ten_seconds(settings):
    settings.POLL_INTERVAL_S = 10


@pytest.fixture
def gpu():
    return factories.node("n1", gpus=1).gpus.get()


def spans(model=UsageFiveMinutes):
    """Minutes after noon, holder, busy, idle and unknown seconds."""
    rows = model.objects.order_by("begins_at", "gpu_id", "holder")
    return [((row.begins_at - NOON) / MINUTE, row.holder, row.busy_s, row.idle_s, row.unknown_s) for row in rows]


def days():
    rows = UsageDay.objects.order_by("on", "holder")
    return [(row.on.day, row.holder, row.busy_s, row.idle_s, row.unknown_s, row.util_pct_s) for row in rows]


def everything():
    fields = ("begins_at", "gpu_id", "holder", "valid", "util_min_pct", "util_mean_pct", "util_max_pct",
              "power_mean_w", "mem_max_mib", "busy_s", "idle_s", "unknown_s")  # fmt: skip
    return [sorted(model.objects.values_list(*fields)) for model in (UsageFiveMinutes, UsageHour)] + [days()]


def read_each(gpu, seconds, **fields):
    for second in seconds:
        read(gpu, later(second), **fields)


@pytest.mark.parametrize(
    ("fields", "used"),
    [
        ({"util": 40.0}, (300.0, 0.0, 0.0)),
        ({"util": 4.9}, (0.0, 300.0, 0.0)),
        ({"util": 0.0, "engine_pct": 60.0}, (300.0, 0.0, 0.0)),
        ({"util": None}, (0.0, 0.0, 300.0)),
    ],
    ids=["busy", "below the line", "video engine", "unknown"],
)
def test_five_minutes_say_how_the_seconds_were_used(gpu, fields, used):
    read_each(gpu, range(0, 310, 10), **fields)

    recompute(NOON, NOON + 5 * MINUTE)

    assert spans() == [(0, "apollo", *used)]


def test_a_span_knows_its_valid_readings_its_least_mean_and_most_and_its_power_by_the_counter(gpu):
    for number, second in enumerate(range(0, 310, 10)):
        util = None if second == 290 else 80.0 if second < 150 else 0.0
        read(gpu, later(second), util=util, util_peak_pct=100.0, energy_j=1000.0 * number, power_w=7.0, mem_used_mib=5)

    recompute(NOON, NOON + 5 * MINUTE)

    row = UsageFiveMinutes.objects.get()
    assert (row.valid, row.util_min_pct, row.util_max_pct, row.mem_max_mib) == (29, 0.0, 100.0, 5)
    assert (row.util_mean_pct, row.power_mean_w) == (pytest.approx(80 * 15 / 29), pytest.approx(100.0))


def test_a_gap_is_unknown_beyond_three_intervals_and_of_the_holder_before_it(gpu):
    read(gpu, NOON, util=0.0)
    read(gpu, later(100), holder="borealis", util=90.0)

    recompute(NOON, NOON + 5 * MINUTE)

    assert spans() == [(0, "apollo", 0.0, 30.0, 70.0), (0, "borealis", 30.0, 0.0, 170.0)]


def test_spans_without_any_reading_are_unknown_however_long(gpu):
    read(gpu, NOON - 2 * DAY, util=90.0)

    recompute(NOON, NOON + 10 * MINUTE)

    assert spans() == [(0, "apollo", 0.0, 0.0, 300.0), (5, "apollo", 0.0, 0.0, 300.0)]


def test_a_card_that_was_never_read_or_was_taken_out_has_no_spans(gpu):
    gone = factories.gpu(gpu.node, slot=1, retired_at=later(-60))
    read(gone, later(-100), util=90.0)
    leaves = factories.gpu(gpu.node, slot=2, retired_at=later(100))
    read(leaves, later(90), util=90.0)

    recompute(NOON, NOON + 5 * MINUTE)

    assert spans() == [(0, "apollo", 10.0, 0.0, 0.0)]


def test_a_reading_that_changes_hands_inside_a_span_makes_two_rows(gpu):
    read_each(gpu, range(0, 150, 10), util=80.0)
    read_each(gpu, range(150, 310, 10), util=0.0, holder="borealis")

    recompute(NOON, NOON + 5 * MINUTE)

    assert spans() == [(0, "apollo", 150.0, 0.0, 0.0), (0, "borealis", 0.0, 150.0, 0.0)]


def test_a_holder_that_nobody_knew_is_unknown_use_of_nobody(gpu):
    read_each(gpu, range(0, 310, 10), util=90.0, holder=None)

    recompute(NOON, NOON + 5 * MINUTE)

    assert spans() == [(0, "", 0.0, 0.0, 300.0)]


def test_a_repeat_changes_nothing_and_writes_nothing(gpu):
    read_each(gpu, range(0, 700, 10), util=33.0, power_w=200.0)
    recompute(NOON, NOON + 10 * MINUTE)
    before = everything()
    with connection.cursor() as cursor:
        cursor.execute("SELECT array_agg(xmin::text ORDER BY begins_at) FROM inventory_usage5min")
        written = cursor.fetchone()

    recompute(NOON, NOON + 10 * MINUTE)

    assert everything() == before
    with connection.cursor() as cursor:
        cursor.execute("SELECT array_agg(xmin::text ORDER BY begins_at) FROM inventory_usage5min")
        assert cursor.fetchone() == written


def test_a_late_reading_leaves_what_would_stand_had_it_come_in_time(gpu):
    instants = [later(second) for second in range(0, 610, 10)]
    for at in instants:
        if at != later(250):
            read(gpu, at, util=50.0 if at < later(250) else 0.0, holder="apollo" if at < later(250) else "borealis")
    roll_up(now=NOON + 12 * MINUTE)

    read(gpu, later(250), util=50.0, holder="apollo")
    roll_up(now=NOON + 12 * MINUTE)
    after = everything()
    UsageFiveMinutes.objects.all().delete()
    roll_up(now=NOON + 12 * MINUTE)

    assert spans()[0] == (0, "apollo", 260.0, 0.0, 0.0)
    assert everything() == after


def test_a_holder_that_a_late_reading_takes_out_leaves_no_row(gpu):
    read(gpu, NOON, util=50.0)
    read(gpu, later(10), holder="borealis", util=50.0)
    recompute(NOON, NOON + 5 * MINUTE)
    ReadingHistory.objects.filter(holder="borealis").delete()

    recompute(NOON, NOON + 5 * MINUTE)

    assert [(row.holder, row.busy_s) for row in UsageFiveMinutes.objects.all()] == [("apollo", 30.0)]
    assert [row[1] for row in days()] == ["apollo"]


def test_spans_begin_where_the_last_call_ended_and_only_those_that_are_over_stand(gpu):
    read_each(gpu, range(0, 1000, 10), util=50.0)

    first = roll_up(now=NOON + 12 * MINUTE)
    again = roll_up(now=NOON + 16 * MINUTE)

    assert (first, again) == (2, 3)
    assert [row[0] for row in spans()] == [0, 5, 10]


def test_a_span_waits_for_what_its_last_reading_says_about_its_end(gpu):
    read_each(gpu, range(0, 300, 10), util=50.0)

    early, later_on = roll_up(now=NOON + 5 * MINUTE + timedelta(seconds=29)), roll_up(now=NOON + 6 * MINUTE)

    assert (early, later_on) == (0, 1)


def test_after_a_stop_the_spans_between_are_made_up(gpu):
    read_each(gpu, range(0, 310, 10), util=50.0)
    roll_up(now=NOON + 6 * MINUTE)

    for _ in range(2):
        roll_up(now=NOON + 3 * HOUR)

    unknown = [row[4] for row in spans()]
    assert (len(unknown), unknown[0], sum(unknown)) == (35, 0.0, 34 * 300.0 - 30.0)


def test_a_long_backlog_takes_several_calls_and_a_time_without_any_gpu_stops_none(gpu):
    read(gpu, NOON, util=50.0)
    gpu.__class__.objects.update(retired_at=NOON + HOUR)
    fresh = factories.gpu(gpu.node, slot=1, first_seen_at=NOON + 20 * HOUR)
    read(fresh, NOON + 20 * HOUR, util=50.0)

    calls = [roll_up(now=NOON + 26 * HOUR) for _ in range(4)]

    assert calls[0] > calls[1] == calls[2] == 24
    assert UsageFiveMinutes.objects.filter(gpu_id=fresh.pk).count() == 6 * 12 - 1


def test_hours_and_days_are_the_sum_of_their_parts_over_midnight(gpu):
    begin = datetime(2026, 3, 10, 23, 0, tzinfo=UTC)
    for step in range(0, 7210, 10):
        read(gpu, begin + timedelta(seconds=step), util=80.0 if step < 3600 else 0.0, power_w=300.0)

    recompute(begin, begin + 2 * HOUR)

    fields = ("begins_at__hour", "valid", "busy_s", "idle_s", "util_mean_pct", "power_mean_w")
    assert list(UsageHour.objects.order_by("begins_at").values_list(*fields)) == [
        (23, 360, 3600.0, 0.0, 80.0, 300.0),
        (0, 360, 0.0, 3600.0, 0.0, 300.0),
    ]  # fmt: skip
    assert days() == [(10, "apollo", 3600.0, 0.0, 0.0, 288_000.0), (11, "apollo", 0.0, 3600.0, 0.0, 0.0)]


@pytest.mark.parametrize("day", [datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)])
def test_the_days_on_which_the_sites_clock_changes_have_24_hours_too(gpu, settings, day):
    settings.TIME_ZONE = "Europe/Berlin"
    with timezone.override("Europe/Berlin"):
        for minute in range(0, 24 * 60, 5):
            read(gpu, day + minute * MINUTE, util=50.0)

        recompute(day, day + DAY)

    assert UsageHour.objects.count() == 24
    assert UsageDay.objects.get().busy_s + UsageDay.objects.get().unknown_s == 86_400.0


def test_every_second_between_two_readings_is_there_once_whatever_was_seen(gpu):
    dice = Random(3)
    at = NOON
    while at < NOON + 3 * HOUR:
        read(gpu, at, util=dice.choice([None, 0.0, 55.0]), holder=dice.choice(["apollo", "borealis", ""]))
        at += timedelta(seconds=dice.choice([9.5, 10, 11.25, 47, 400]))

    recompute(NOON, NOON + 3 * HOUR)

    whole = [sum(row[2:]) for row in spans()]
    assert sum(whole) == pytest.approx(3 * 3600.0)
    assert sum(sum(row[2:5]) for row in days()) == pytest.approx(3 * 3600.0)


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_leave_what_one_leaves(monkeypatch):
    gpu = factories.node("n1", gpus=1).gpus.get()
    read_each(gpu, range(0, 310, 10), util=50.0)
    window = races.Window()
    monkeypatch.setattr(rollups, "recompute", window.before(rollups.recompute))

    outcomes = races.at_once(lambda: roll_up(now=NOON + 6 * MINUTE), lambda: roll_up(now=NOON + 6 * MINUTE))

    assert (sorted(outcomes), window.met) == ([0, 1], False)
    assert spans() == [(0, "apollo", 300.0, 0.0, 0.0)]


def test_partitions_are_made_ahead_and_dropped_when_old(settings):
    settings.USAGE_5MIN_KEPT_DAYS, settings.USAGE_HOURS_KEPT_DAYS = 60, 400
    today = datetime(2031, 5, 20, tzinfo=UTC).date()

    keep_history(today=today)

    assert partitions("inventory_usage5min")[:2] == ["inventory_usage5min_20310519", "inventory_usage5min_20310520"]
    assert len(partitions("inventory_usage5min")) == 9
    assert partitions("inventory_usagehour") == ["inventory_usagehour_203105"]


def test_spans_that_are_too_old_go_by_whole_partitions_and_early_ones_are_put_in_theirs(gpu, settings):
    settings.USAGE_5MIN_KEPT_DAYS, settings.USAGE_HOURS_KEPT_DAYS = 60, 400
    begin = datetime(2031, 5, 20, 12, tzinfo=UTC)
    read(gpu, begin, util=50.0)
    recompute(begin, begin + 5 * MINUTE)

    keep_history(today=begin.date())
    kept = (UsageFiveMinutes.objects.count(), UsageHour.objects.count())
    keep_history(today=begin.date() + timedelta(days=61))
    hours_only = (UsageFiveMinutes.objects.count(), UsageHour.objects.count())
    keep_history(today=begin.date() + timedelta(days=450))

    assert (kept, hours_only) == ((1, 1), (0, 1))
    assert (UsageHour.objects.count(), UsageDay.objects.count()) == (0, 1)


def partitions(table):
    with connection.cursor() as cursor:
        cursor.execute("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass", [table])
        return sorted(name for (name,) in cursor.fetchall() if not name.endswith("_rest"))
