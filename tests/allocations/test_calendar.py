"""Working days: weekends and days off do not count, and the clock on the wall stays where it is."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from allocations import calendar
from allocations.calendar import WorkCalendar
from allocations.models import Holiday
from tests import factories

BERLIN = ZoneInfo("Europe/Berlin")
PLAIN = WorkCalendar(BERLIN, frozenset())


def at(*when: int, fold: int = 0) -> datetime:
    return datetime(*when, tzinfo=BERLIN, fold=fold).astimezone(UTC)


@pytest.mark.parametrize(
    ("begins", "days", "due"),
    [
        (at(2026, 12, 1, 14), 0, at(2026, 12, 1, 14)),
        (at(2026, 12, 1, 14), 3, at(2026, 12, 4, 14)),
        (at(2026, 12, 3, 14), 3, at(2026, 12, 8, 14)),  # Thursday, over a weekend
        (at(2026, 12, 5, 14), 1, at(2026, 12, 8)),  # Saturday: Monday is the whole day that is counted
        (at(2026, 12, 6, 23, 59), 0, at(2026, 12, 7)),
        (at(2026, 12, 1, 14), 100, at(2027, 4, 20, 14)),
    ],
)
def test_due_after_counts_monday_to_friday(begins, days, due):
    assert PLAIN.due_after(begins, days) == due


@pytest.mark.parametrize("clock_change", [(2026, 3, 29), (2026, 10, 25)])
def test_the_time_on_the_clock_stays_over_a_clock_change(clock_change):
    """celery/django-celery-beat#194: nine o'clock stays nine o'clock the working day before and after the change."""
    sunday = date(*clock_change)
    friday, monday = at(sunday.year, sunday.month, sunday.day - 2, 9), PLAIN.due_after

    due = monday(friday, 1)

    assert due.astimezone(BERLIN).timetuple()[:5] == (sunday.year, sunday.month, sunday.day + 1, 9, 0)
    assert (due - friday).total_seconds() / 3600 == (71 if sunday.month == 3 else 73)
    assert PLAIN.before(due, 1) == friday


def test_a_time_that_a_clock_change_skips_falls_due_an_hour_later():
    sunday_is_worked = ZoneInfo("Asia/Beirut")  # the clocks went forward at midnight of a Sunday
    plain = WorkCalendar(sunday_is_worked, frozenset())
    saturday = datetime(2024, 3, 30, 10, tzinfo=sunday_is_worked)

    assert plain.due_after(saturday, 0) == datetime(2024, 4, 1, tzinfo=sunday_is_worked)


def test_days_off_are_passed_over_and_what_begins_on_one_begins_on_the_next_working_day():
    off = WorkCalendar(BERLIN, {date(2026, 12, 24), date(2026, 12, 25), date(2026, 12, 31), date(2027, 1, 1)})

    assert off.due_after(at(2026, 12, 23, 10), 1) == at(2026, 12, 28, 10)
    assert off.due_after(at(2026, 12, 25, 10), 1) == at(2026, 12, 29)
    assert off.before(at(2026, 12, 28, 10), 1) == at(2026, 12, 23, 10)
    assert off.before(at(2027, 1, 4, 10), 3) == at(2026, 12, 28, 10)


def test_working_days_between_counts_those_that_have_come_whole():
    start = at(2026, 12, 3, 14)  # Thursday

    counted = [
        PLAIN.working_days_between(start, end)
        for end in (start, at(2026, 12, 4, 13, 59), at(2026, 12, 4, 14), at(2026, 12, 6, 20), at(2026, 12, 7, 14))
    ]

    assert counted == [0, 0, 1, 1, 2]
    assert PLAIN.working_days_between(at(2026, 12, 5, 9), at(2026, 12, 8)) == 1
    assert PLAIN.working_days_between(at(2026, 12, 8), start) == 0


def test_between_is_the_most_days_whose_due_time_has_come():
    off = WorkCalendar(BERLIN, {date(2026, 4, 3), date(2026, 4, 6)})
    for hour in range(0, 24 * 21, 7):
        start = at(2026, 3, 23, 0, 30)
        end = datetime.fromtimestamp(start.timestamp() + hour * 3600, UTC)
        days = off.working_days_between(start, end)
        assert off.due_after(start, days) <= end < off.due_after(start, days + 1)


def test_no_negative_number_of_days():
    with pytest.raises(ValueError, match="-1 working days"):
        PLAIN.due_after(at(2026, 12, 1), -1)


@pytest.mark.django_db
def test_rows_name_the_days_off_of_the_site_and_of_a_division(settings, django_assert_num_queries):
    settings.SITE_TIME_ZONE = "Europe/Berlin"
    research, applied = factories.division("research"), factories.division("applied")
    Holiday.objects.create(on=date(2026, 12, 24), name="Christmas Eve")
    Holiday.objects.create(on=date(2026, 12, 23), name="Offsite", division=research)
    tuesday = at(2026, 12, 22, 10)

    with django_assert_num_queries(1):
        assert calendar.due_after(tuesday, 1, division=research) == at(2026, 12, 25, 10)
    assert calendar.due_after(tuesday, 1, division=applied) == at(2026, 12, 23, 10)
    assert calendar.due_after(tuesday, 2) == at(2026, 12, 25, 10)
    assert calendar.working_days_between(tuesday, at(2026, 12, 25, 10), division=research) == 1
