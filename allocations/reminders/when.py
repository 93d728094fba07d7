"""When a reminder is due: one working day before the due time, and at it."""

from datetime import datetime, timedelta

from django.db.models import F, Q

from allocations.calendar import calendar_of
from allocations.models import Division

AHEAD_WORKING_DAYS = 1
# No lab has more days off in a row; what falls due later than this is not looked at yet.
LOOK_AHEAD = timedelta(days=30)
ACTOR = "reminders"


def is_due(due_at: datetime | None, reminded_at: datetime | None, *, now: datetime, division: Division) -> bool:
    """Whether somebody is to be reminded now: of the time to come once, and once when it has come."""
    if due_at is None or (reminded_at is not None and reminded_at >= due_at):
        return False
    if now >= due_at:
        return True
    return reminded_at is None and calendar_of(division).before(due_at, AHEAD_WORKING_DAYS) <= now


def may_be_due(now: datetime, *, due_at: str = "due_at", reminded_at: str = "reminded_at") -> Q:
    """Rows that `is_due` may say yes to; the columns are named."""
    soon = Q(**{f"{reminded_at}__isnull": True, f"{due_at}__lte": now + LOOK_AHEAD})
    come = Q(**{f"{reminded_at}__lt": F(due_at), f"{due_at}__lte": now})
    return soon | come
