"""Times in which rest is agreed on, so that nobody is asked why."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple


class Exemption(NamedTuple):
    """A lease that serves, an interactive one, or a declared phase, as a checkpoint; `until` None: until further."""

    kind: Literal["serving", "interactive", "phase"]
    since: datetime
    until: datetime | None


def counts_since(idle_since: datetime, exemptions: Iterable[Exemption], *, now: datetime) -> datetime | None:
    """From when on idle time counts: after the last agreed time; None while one lasts."""
    counted = idle_since
    for exemption in exemptions:
        if exemption.since <= now:
            if exemption.until is None or exemption.until > now:
                return None
            counted = max(counted, exemption.until)
    return counted
