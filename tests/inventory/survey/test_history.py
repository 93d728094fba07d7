"""History by whole days: made ahead, dropped when old, and rows that came before their day put in it."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection

from allocations.models import Plan
from inventory.models import Reading, ReadingHistory, Survey
from inventory.survey import forget_surveys, keep_history
from tests import factories
from tests.inventory.survey.seen import card, said, silent, survey

TODAY = date(2031, 5, 20)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def thirty_days(settings):
    settings.READINGS_KEPT_DAYS = 30


def days():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'inventory_readinghistory'::regclass"
        )
        names = sorted(name for (name,) in cursor.fetchall())
    assert names.pop() == "inventory_readinghistory_rest"
    return [datetime.strptime(name[-8:], "%Y%m%d").date() for name in names]


def rest():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM ONLY inventory_readinghistory_rest")
        return cursor.fetchone()[0]


def read(*instants):
    """One card that is read at each of these instants."""
    node = factories.node(gpus=1, cards=0)
    for at in instants:
        survey(said(node, card(f"GPU-{node.pk}"), at=at), at=at)


def at(day, hour=12, minute=0):
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC)


def test_there_is_a_partition_for_yesterday_today_and_each_of_the_next_seven_days():
    keep_history(today=TODAY)

    assert days() == [TODAY + timedelta(days=ahead) for ahead in range(-1, 8)]


def test_a_repeat_changes_nothing():
    keep_history(today=TODAY)
    before = days()

    keep_history(today=TODAY)

    assert days() == before


def test_days_that_are_too_old_are_dropped_whole_and_the_last_kept_day_stays():
    keep_history(today=TODAY)
    read(at(TODAY))

    keep_history(today=TODAY + timedelta(days=30))
    assert (days()[0], ReadingHistory.objects.count()) == (TODAY, 1)

    keep_history(today=TODAY + timedelta(days=31))
    assert (days()[0], ReadingHistory.objects.count()) == (TODAY + timedelta(days=1), 0)


def test_rows_that_came_before_their_day_was_made_are_put_in_it():
    strays = [at(TODAY, 0), at(TODAY, 23, 59), at(TODAY + timedelta(days=1), 0)]
    read(*strays)
    assert rest() == 3

    keep_history(today=TODAY)

    assert rest() == 0
    assert list(ReadingHistory.objects.order_by("requested_at").values_list("requested_at", flat=True)) == strays
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM inventory_readinghistory_20310520")
        assert cursor.fetchone()[0] == 2


def test_strays_that_are_too_old_are_dropped_with_their_day():
    read(at(TODAY - timedelta(days=31)), at(TODAY))

    keep_history(today=TODAY)

    assert list(ReadingHistory.objects.values_list("requested_at", flat=True)) == [at(TODAY)]


def test_a_clock_that_ran_ahead_leaves_a_day_that_is_kept():
    far = TODAY + timedelta(days=400)
    read(at(far))

    keep_history(today=TODAY)

    assert days()[-1] == far
    assert rest() == 0


def test_surveys_are_forgotten_with_the_readings_of_their_time_unless_a_plan_names_them():
    old, recent, named = at(TODAY - timedelta(days=31)), at(TODAY - timedelta(days=29)), factories.person("ops")
    node = factories.node(gpus=1, cards=0)
    for _ in range(2):
        survey(said(node, card(f"GPU-{node.pk}"), at=old), silent(factories.node(cards=0)), at=old)
    survey(at=recent)
    Survey.objects.exclude(started_at=recent).update(finished_at=old)
    Survey.objects.filter(started_at=recent).update(finished_at=recent)
    kept = Survey.objects.filter(started_at=old).first()
    Plan.objects.create(purpose="release", base_generation=0, survey=kept, proposed_by=named, proposed_at=old)

    assert forget_surveys(now=at(TODAY)) == 1

    assert set(Survey.objects.values_list("started_at", flat=True)) == {old, recent}
    assert Survey.objects.filter(pk=kept.pk).exists()
    assert Reading.objects.count() == 1
