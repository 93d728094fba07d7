"""Who has an interest signs nothing: of one pitch by stepping aside, of a whole project by a declared conflict."""

from allocations.recusals.aside import recuse
from allocations.recusals.conflicts import declare_conflict, end_conflict

__all__ = ["declare_conflict", "end_conflict", "recuse"]
