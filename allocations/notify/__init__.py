"""Say to people what happened: in their inbox, and outside the portal where and when they want to hear it."""

from allocations.notify.inbox import mark_all_read, mark_read, notices_of, set_preferences, unread_of
from allocations.notify.quiet import quiet_until
from allocations.notify.tell import Text, address, page, tell, tell_each

__all__ = [
    "Text",
    "address",
    "mark_all_read",
    "mark_read",
    "notices_of",
    "page",
    "quiet_until",
    "set_preferences",
    "tell",
    "tell_each",
    "unread_of",
]
