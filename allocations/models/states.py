"""The one way a state changes: compare and set along the table of legal steps."""

from collections.abc import Iterable
from typing import Any, Self, TypeVar

from django.db import models
from django.utils.translation import gettext_lazy as _
from uuid_utils.compat import uuid7

from allocations.errors import Stale, WrongState

Row = TypeVar("Row", bound=models.Model)

_NO_STEP = _("This %(noun)s: %(old)s. There is no step from here to: %(new)s.")
_TOO_LATE = _("Somebody was first: this %(noun)s is no longer %(old)s. Look again.")


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
            raise WrongState(_said(row, new, _NO_STEP), old=str(old), new=str(new))
        if self.model._default_manager.filter(pk=row.pk, state=old).update(state=new, **stamps) != 1:
            raise Stale(_said(row, new, _TOO_LATE), old=str(old), new=str(new))
        for name, value in {"state": new, **stamps}.items():
            setattr(row, name, value)
        return self

    def advance_many(self, rows: Iterable[Row], new: str, /, *, skip_locked: bool = False, **stamps: Any) -> list[Row]:
        """Those of `rows` that this call brought into state `new`, in pk order, with `stamps` set; set-wise `advance`.

        Locks them in pk order until the transaction ends. A row that is no longer in the state that it shows belongs to
        somebody who was first: it is left alone and left out, as is one that somebody has locked where `skip_locked`.
        Raises WrongState when there is no such step.
        """
        shown = {row.pk: row for row in rows}
        for row in shown.values():
            old: str = row.state  # type: ignore[attr-defined]
            if new not in row.NEXT.get(old, ()):  # type: ignore[attr-defined]
                raise WrongState(_said(row, new, _NO_STEP), old=str(old), new=str(new))
        locked = (
            self.model._default_manager.filter(pk__in=shown)
            .order_by("pk")
            .select_for_update(skip_locked=skip_locked)
            .values_list("pk", "state")
        )
        won = [shown[pk] for pk, state in locked if state == shown[pk].state]  # type: ignore[attr-defined]
        if won:
            self.model._default_manager.filter(pk__in=[row.pk for row in won]).update(state=new, **stamps)
        for row in won:
            for name, value in {"state": new, **stamps}.items():
                setattr(row, name, value)
        return won


def _said(row: models.Model, new: str, sentence: Any) -> str:
    labels = dict(row._meta.get_field("state").flatchoices)  # type: ignore[union-attr]
    old = row.state  # type: ignore[attr-defined]
    return str(sentence % {"noun": row._meta.verbose_name, "old": labels.get(old, old), "new": labels.get(new, new)})
