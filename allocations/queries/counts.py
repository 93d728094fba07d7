"""How many rows several querysets have, in one query."""

from collections.abc import Mapping
from typing import Any

from django.db.models import IntegerField, QuerySet, Subquery

from allocations.models import Person


class _Count(Subquery):
    template = "(SELECT COUNT(*) FROM (%(subquery)s) _counted)"
    output_field = IntegerField()


def counts_of(asked_by: Person, rows: Mapping[str, QuerySet[Any]]) -> dict[str, int]:
    """The name of each queryset -> how many rows it has; one query, none where there is nothing to count."""
    if not rows:
        return {}
    counts = {name: _Count(_keys(queryset)) for name, queryset in rows.items()}
    found = Person.objects.filter(pk=asked_by.pk).values_list(*counts.values())[0]
    return dict(zip(rows, found, strict=True))


def _keys(rows: QuerySet[Any]) -> QuerySet[Any]:
    """The primary keys; only a slice needs its order."""
    return (rows if rows.query.is_sliced else rows.order_by()).values("pk")
