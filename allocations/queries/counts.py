"""How many rows several querysets have, in one query."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from allocations.queries.together import in_one_statement


def counts_of(rows: Mapping[str, QuerySet[Any]]) -> dict[str, int]:
    """The name of each queryset -> how many rows it has; one query, none where there is nothing to count."""
    counted = in_one_statement(("COUNT(*) FROM {rows}", _keys(queryset)) for queryset in rows.values())
    return {name: count or 0 for name, count in zip(rows, counted, strict=True)}


def _keys(rows: QuerySet[Any]) -> QuerySet[Any]:
    """The primary keys; only a slice needs its order."""
    return (rows if rows.query.is_sliced else rows.order_by()).values("pk")
