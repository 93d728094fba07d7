"""Lists a page at a time, newest first, by the key of the last row seen: no row is skipped or shown twice."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

PAGE_ROWS = 50  # some four screens of a laptop
LARGEST_KEY = 2**63 - 1  # of a bigint; a larger number in the address is a slip
KEY_DIGITS = len(str(LARGEST_KEY))  # looked at first: Python itself refuses to read a number of thousands of digits


@dataclass(frozen=True)
class Page:
    """Rows of one page; `before` is the key with which the next older page begins, None at the end."""

    rows: list[Any]
    before: int | None
    is_later: bool

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def newest_first(rows: QuerySet[Any], request: HttpRequest, *, size: int = PAGE_ROWS) -> Page:
    """The page that `?before=<pk>` asks for (the newest without it); one query."""
    given = request.GET.get("before", "")
    is_key = len(given) <= KEY_DIGITS and given.isdecimal() and int(given) <= LARGEST_KEY
    key = int(given) if is_key else None
    if key is not None:
        rows = rows.filter(pk__lt=key)
    found = list(rows.order_by("-pk")[: size + 1])
    shown = found[:size]
    return Page(shown, shown[-1].pk if len(found) > size else None, key is not None)
