"""What an ask says, and what makes one whole enough to be submitted; pure but for reading the rows beside a pitch."""

from allocations.asks.checks import LATEST_START_DAYS, MOST_GPUS, TITLE_LIMIT, check_numbers, check_whole
from allocations.asks.details import (
    LABELS,
    MOST_ALTERNATIVES,
    MOST_LINKS,
    Alternative,
    Details,
    Link,
    check_answer,
    check_details,
    details_of,
    questions_for,
    with_details,
)
from allocations.asks.said import SAID, changes_between, said_by, version_of

__all__ = [
    "LABELS",
    "LATEST_START_DAYS",
    "MOST_ALTERNATIVES",
    "MOST_GPUS",
    "MOST_LINKS",
    "SAID",
    "TITLE_LIMIT",
    "Alternative",
    "Details",
    "Link",
    "changes_between",
    "check_answer",
    "check_details",
    "check_numbers",
    "check_whole",
    "details_of",
    "questions_for",
    "said_by",
    "version_of",
    "with_details",
]
