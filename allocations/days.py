"""Days as people type them, inclusive and in one time zone, and the instants that they mean."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

# What people may name. Near the calendar's own ends (years 1 and 9999) adding days, or just showing an instant in the
# next zone, leaves it; and no lab plans further.
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2199, 12, 31)


def is_reachable(instant: datetime) -> bool:
    """Whether the instant lies in days that people may name."""
    return FIRST_DAY <= instant.date() <= LAST_DAY


def start_of(day: date, zone: ZoneInfo) -> datetime:
    """The instant (UTC) at which that day begins in `zone`; the first one where a clock change skips midnight."""
    return datetime.combine(day, time.min, zone).astimezone(UTC)


def day_of(instant: datetime, zone: ZoneInfo) -> date:
    """The day that it is in `zone` at that instant."""
    return instant.astimezone(zone).date()


def plus_days(instant: datetime, days: int, zone: ZoneInfo) -> datetime:
    """The same time on the clock in `zone` so many days later (UTC), whatever the clocks did in between."""
    local = instant.astimezone(zone)
    return (local.replace(tzinfo=None) + timedelta(days=days)).replace(tzinfo=zone, fold=local.fold).astimezone(UTC)


def last_day(until: datetime, zone: ZoneInfo) -> date:
    """The last day in `zone` of something that ends before `until`."""
    return day_of(until - timedelta(microseconds=1), zone)


def daily_hours(
    begins: time, ends: time, zone: ZoneInfo, *, start: datetime, end: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """The hours of each day in `zone` from the clock's `begins` to its `ends`, cut to [start, end), in order (UTC).

    They may cross midnight; equal ones are the whole day. What the clock shows twice counts from its first time and
    until its last, so that no night has a hole; a night of a clock change is an hour longer or shorter.
    """
    day, last = day_of(start, zone) - timedelta(days=1), day_of(end, zone)
    while day <= last:
        until = day if begins < ends else day + timedelta(days=1)
        first = datetime.combine(day, begins, zone).astimezone(UTC)
        final = datetime.combine(until, ends, zone)
        ended = max(final.astimezone(UTC), final.replace(fold=1).astimezone(UTC))
        if max(first, start) < min(ended, end):
            yield max(first, start), min(ended, end)
        day += timedelta(days=1)


def month_of(instant: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The calendar month of `zone` that holds the instant, half-open, in UTC."""
    first = day_of(instant, zone).replace(day=1)
    following = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
    return start_of(first, zone), start_of(following, zone)
