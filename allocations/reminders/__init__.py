"""Who lets something wait hears of it, and who stands above hears when it is overdue. Nothing here decides."""

from allocations.reminders.tick import remind

__all__ = ["remind"]
