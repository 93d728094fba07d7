"""What leaves the building: mail and chat, after the decision stands, through outages of either."""

from allocations.outbox.chat import hidden_address
from allocations.outbox.deliver import (
    DIGEST_FROM,
    FIRST_PAUSE,
    LONGEST_PAUSE,
    OUTAGE_PAUSE,
    deliver_due,
)
from allocations.outbox.letters import PARKED_AFTER, PATIENT

__all__ = [
    "DIGEST_FROM",
    "FIRST_PAUSE",
    "LONGEST_PAUSE",
    "OUTAGE_PAUSE",
    "PARKED_AFTER",
    "PATIENT",
    "deliver_due",
    "hidden_address",
]
