"""How old a reading may be and still be believed."""

from datetime import datetime, timedelta

from django.conf import settings

# Two polls may be lost (a busy worker, one timeout) before what was seen last counts as unknown.
INTERVALS_FRESH = 3


def stale_after_s() -> int:
    """Seconds after which a reading is stale."""
    return INTERVALS_FRESH * int(settings.POLL_INTERVAL_S)


def fresh_after(now: datetime) -> datetime:
    """Readings asked for before this instant are stale at `now`: unknown, neither idle nor zero."""
    return now - timedelta(seconds=stale_after_s())
