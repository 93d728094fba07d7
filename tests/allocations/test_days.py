"""Days as people type them, across clock changes."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from allocations.days import day_of, last_day, month_of, plus_days, start_of

MADRID, CAIRO = ZoneInfo("Europe/Madrid"), ZoneInfo("Africa/Cairo")


@pytest.mark.parametrize(
    ("day", "zone", "instant"),
    [
        (date(2027, 3, 28), MADRID, datetime(2027, 3, 27, 23, tzinfo=UTC)),
        (date(2027, 3, 29), MADRID, datetime(2027, 3, 28, 22, tzinfo=UTC)),
        (date(2024, 4, 26), CAIRO, datetime(2024, 4, 25, 22, tzinfo=UTC)),  # that midnight did not exist
    ],
)
def test_a_day_begins_at_midnight_of_its_zone(day, zone, instant):
    assert start_of(day, zone) == instant
    assert day_of(instant, zone) == day


def test_days_later_it_is_the_same_time_on_the_clock():
    noon = datetime(2027, 3, 27, 11, tzinfo=UTC)  # 12:00 in Madrid

    assert plus_days(noon, 1, MADRID) == datetime(2027, 3, 28, 10, tzinfo=UTC)


def test_what_ends_at_midnight_has_the_day_before_as_its_last():
    assert last_day(start_of(date(2027, 3, 29), MADRID), MADRID) == date(2027, 3, 28)
    assert last_day(datetime(2027, 3, 29, 12, tzinfo=UTC), MADRID) == date(2027, 3, 29)


def test_a_month_of_the_site_begins_and_ends_by_its_own_clock():
    auckland = ZoneInfo("Pacific/Auckland")

    begins, ends = month_of(datetime(2027, 12, 31, 10, 59, tzinfo=UTC), auckland)

    assert (begins, ends) == (datetime(2027, 11, 30, 11, tzinfo=UTC), datetime(2027, 12, 31, 11, tzinfo=UTC))
    assert month_of(ends, auckland)[0] == ends
