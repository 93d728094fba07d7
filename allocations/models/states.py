"""The one way a state changes: compare and set along the table of legal steps."""

from typing import Any, Self, TypeVar

from django.db import models
from uuid_utils.compat import uuid7

from allocations.errors import Stale, WrongState

Row = TypeVar("Row", bound=models.Model)


def new_public_id() -> object:
    """A UUIDv7: the id that leaves the database."""
    return uuid7()


class StateQuerySet(models.QuerySet[Row]):
    """Rows with a `state` and a map `NEXT` of legal steps on their model."""

    def advance(self, row: Row, new: str, /, **stamps: Any) -> Self:
        """`row` is in state `new`, with `stamps` set, in the database and in memory.

        Exactly one caller wins: the update holds only while the row is still in the state that `row` shows.
        Raises WrongState when there is no such step, Stale when somebody was first.
        """
        old: str = row.state  # type: ignore[attr-defined]
        if new not in row.NEXT.get(old, ()):  # type: ignore[attr-defined]
            raise WrongState(f"{row._meta.verbose_name}: {old} -> {new}", old=str(old), new=str(new))
        if self.model._default_manager.filter(pk=row.pk, state=old).update(state=new, **stamps) != 1:
            raise Stale(f"{row._meta.verbose_name} is no longer {old}", old=str(old), new=str(new))
        for name, value in {"state": new, **stamps}.items():
            setattr(row, name, value)
        return self
