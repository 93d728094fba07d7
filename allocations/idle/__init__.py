"""From idle GPUs to a question, a second one, and an entry on the desk: a person acts, never the clock."""

from allocations.idle.answers import declare_phase, end_phase, keep
from allocations.idle.ladder import tend

__all__ = ["declare_phase", "end_phase", "keep", "tend"]
