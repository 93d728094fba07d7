"""Say to people what happened: in their inbox, and outside the portal where and when they want to hear it."""

from allocations.notify.inbox import mark_all_read, mark_read, notices_of, set_preferences, settle, unread_of, unsettle
from allocations.notify.quiet import quiet_until
from allocations.notify.tell import Telling, Text, address, page, tell, tell_each, tell_many

__all__ = [
    "Telling",
    "Text",
    "address",
    "mark_all_read",
    "mark_read",
    "notices_of",
    "page",
    "quiet_until",
    "set_preferences",
    "settle",
    "tell",
    "tell_each",
    "tell_many",
    "unread_of",
    "unsettle",
]
