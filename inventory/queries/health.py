"""How many GPUs there are to promise: healthy now, and out of use for a known while."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.contrib.postgres.fields import DateTimeRangeField
from django.db.models import BigIntegerField, Count, Q, QuerySet, Value
from django.utils import timezone

from inventory.models import Cordon
from inventory.queries.nodes import units


class Outage(NamedTuple):
    """`gpus` of a model are out of use in the half-open [starts_at, ends_at); `ends_at` None has no end yet."""

    model_id: int
    starts_at: datetime
    ends_at: datetime | None
    gpus: int


def healthy_counts() -> dict[int, int]:
    """GPU model id -> GPUs that are neither retired nor lost; models without any are left out.

    Cordons come on top, by `outages`. A silent node still counts: silence for a minute revokes nothing.
    """
    return dict(_healthy().annotate(gpus=Count("pk")))


def supply() -> tuple[dict[int, int], list[Outage]]:
    """`healthy_counts` and `outages` together, in one query."""
    nothing = Value(None, output_field=DateTimeRangeField())
    healthy = _healthy().annotate(during=nothing, cordon=Value(None, output_field=BigIntegerField()), gpus=Count("pk"))
    counts: dict[int, int] = {}
    rows = []
    for model_id, during, cordon, gpus in _out().union(healthy, all=True):
        if cordon is None:
            counts[model_id] = gpus
        else:
            rows.append((model_id, during, cordon, gpus))
    return counts, _in_order(rows)


def outages() -> list[Outage]:
    """Each cordon that is in force or still to come, once for each model of GPUs on its node, earliest first."""
    return _in_order(_out())


def _healthy() -> QuerySet[Any]:
    return units().filter(lost_at=None).order_by().values_list("model_id")


def _out() -> QuerySet[Any]:
    """(GPU model id, time, cordon, GPUs) of each cordon that is in force or still to come."""
    ends_later = Q(during__endswith=None) | Q(during__endswith__gt=timezone.now())
    rows = Cordon.objects.filter(ends_later, node__gpus__in=units().filter(lost_at=None)).order_by()
    counted: QuerySet[Any] = rows.values_list("node__gpus__model_id", "during", "pk").annotate(gpus=Count("node__gpus"))
    return counted


def _in_order(rows: Iterable[tuple[int, Any, int, int]]) -> list[Outage]:
    now = timezone.now()
    found = [Outage(model_id, during.lower or now, during.upper, gpus) for model_id, during, _pk, gpus in rows]
    return sorted(found, key=lambda outage: (outage.starts_at, outage.model_id))
