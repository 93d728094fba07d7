"""Working days: Monday to Friday in the site's time zone, less the days that an admin named as days off."""

from collections.abc import Set
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import Q

from allocations.days import day_of, plus_days, start_of
from allocations.models import Division, Holiday

DAY = timedelta(days=1)
SATURDAY = 5  # as `date.weekday` counts


@dataclass(frozen=True)
class WorkCalendar:
    """Which days of `zone` are worked on, and how far so many of them reach; knows no database."""

    zone: ZoneInfo
    days_off: Set[date]

    def is_worked(self, day: date) -> bool:
        """Whether people can be asked to do something on that day."""
        return day.weekday() < SATURDAY and day not in self.days_off

    def due_after(self, instant: datetime, working_days: int) -> datetime:
        """So many working days after the instant (UTC), at the same time on the clock.

        What begins on a day off begins with the next working day. Raises ValueError for a negative number.
        """
        _require_count(working_days)
        instant = self._next_worked(instant)
        day = self._moved(day_of(instant, self.zone), working_days, DAY)
        return plus_days(instant, (day - day_of(instant, self.zone)).days, self.zone)

    def before(self, instant: datetime, working_days: int) -> datetime:
        """So many working days before the instant (UTC), at the same time on the clock.

        Raises ValueError for a negative number.
        """
        _require_count(working_days)
        day = day_of(instant, self.zone)
        return plus_days(instant, (self._moved(day, working_days, -DAY) - day).days, self.zone)

    def working_days_between(self, start: datetime, end: datetime) -> int:
        """The whole working days from `start` to `end`: the most for which `due_after(start, n)` has come; 0 before."""
        begins = self._next_worked(start)
        first, last = day_of(begins, self.zone), day_of(end, self.zone)
        days = sum(self.is_worked(first + n * DAY) for n in range(1, (last - first).days + 1))
        return days - (days > 0 and self.due_after(begins, days) > end)

    def _next_worked(self, instant: datetime) -> datetime:
        day = day_of(instant, self.zone)
        if self.is_worked(day):
            return instant
        return start_of(self._moved(day, 1, DAY), self.zone)

    def _moved(self, day: date, working_days: int, step: timedelta) -> date:
        while working_days:
            day += step
            working_days -= self.is_worked(day)
        return day


def calendar_of(division: Division | None = None) -> WorkCalendar:
    """The site's calendar with its days off now, and the division's besides; one query."""
    off = Holiday.objects.filter(Q(division=None) | Q(division=division)).values_list("on", flat=True)
    return WorkCalendar(ZoneInfo(settings.SITE_TIME_ZONE), frozenset(off))


def due_after(instant: datetime, working_days: int, *, division: Division | None = None) -> datetime:
    """So many working days of the division (None: of the site) after the instant, in UTC."""
    return calendar_of(division).due_after(instant, working_days)


def working_days_between(start: datetime, end: datetime, *, division: Division | None = None) -> int:
    """The whole working days of the division (None: of the site) from `start` to `end`."""
    return calendar_of(division).working_days_between(start, end)


def _require_count(working_days: int) -> None:
    if working_days < 0:
        raise ValueError(f"{working_days} working days")
