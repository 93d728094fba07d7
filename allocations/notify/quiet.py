"""Quiet hours: when a person is not to be disturbed, by the clock on their wall."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings

from allocations.models import NoticePreference, Person

DAY = timedelta(days=1)


def quiet_until(now: datetime, person: Person, wish: NoticePreference | None) -> datetime | None:
    """The end (UTC) of the quiet hours that the person has at `now`; None where they have none then."""
    if wish is None or wish.quiet_from is None or wish.quiet_until is None:
        return None
    return quiet_end(now, wish.quiet_from, wish.quiet_until, _zone_of(person))


def quiet_end(now: datetime, begins: time, ends: time, zone: ZoneInfo) -> datetime | None:
    """The end (UTC) of the daily hours from `begins` to `ends` in `zone` if `now` is in them; they may cross midnight.

    What the clock shows twice counts from its first time and until its last; what it skips is an hour later.
    """
    today = now.astimezone(zone).date()
    for day in (today - DAY, today):
        end = _last(day if begins < ends else day + DAY, ends, zone)
        if _first(day, begins, zone) <= now < end:
            return end
    return None


def _first(day: date, at: time, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, at, zone).astimezone(UTC)


def _last(day: date, at: time, zone: ZoneInfo) -> datetime:
    local = datetime.combine(day, at, zone)
    return max(local.astimezone(UTC), local.replace(fold=1).astimezone(UTC))


def _zone_of(person: Person) -> ZoneInfo:
    try:
        return ZoneInfo(person.time_zone or settings.SITE_TIME_ZONE)
    except (KeyError, ValueError):  # a name that this machine does not know
        return ZoneInfo(settings.SITE_TIME_ZONE)
