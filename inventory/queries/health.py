"""How many GPUs there are to promise: healthy now, and out of use for a known while."""

from collections.abc import Iterable
from datetime import date, datetime, time
from typing import Any, NamedTuple

from django.contrib.postgres.fields import DateTimeRangeField
from django.db.models import BigIntegerField, Count, DateField, F, Q, QuerySet, Value
from django.db.models.functions import Cast
from django.utils import timezone

from inventory.models import Arrival, Cordon
from inventory.queries.nodes import units


class Outage(NamedTuple):
    """`gpus` of a model are out of use in the half-open [starts_at, ends_at); `ends_at` None has no end yet."""

    model_id: int
    starts_at: datetime
    ends_at: datetime | None
    gpus: int


class Coming(NamedTuple):
    """`gpus` of a model are to be there from the beginning of a day of the site on; they are not there yet."""

    model_id: int
    starts_at: datetime
    gpus: int


class Supply(NamedTuple):
    """GPU model id -> GPUs that are neither retired nor lost, the outages, and what is announced to come."""

    healthy: dict[int, int]
    outages: list[Outage]
    coming: list[Coming]


def healthy_counts() -> dict[int, int]:
    """GPU model id -> GPUs that are neither retired nor lost; models without any are left out.

    Cordons come on top, by `outages`. A silent node still counts: silence for a minute revokes nothing.
    """
    return dict(_healthy().annotate(gpus=Count("pk")))


def supply() -> Supply:
    """`healthy_counts`, `outages` and `coming` together, in one query."""
    nothing = Value(None, output_field=DateTimeRangeField())
    no_day, no_cordon = Cast(Value(None), DateField()), Value(None, output_field=BigIntegerField())
    healthy = _healthy().annotate(during=nothing, cordon=no_cordon, day=no_day, gpus=Count("pk"))
    arrivals = _arrivals().annotate(during=nothing, cordon=no_cordon, day=F("arrives_on"), number=F("gpus"))
    found = Supply({}, [], [])
    out = []
    for model_id, during, cordon, day, gpus in _out(day=no_day).union(healthy, arrivals, all=True):
        if cordon is not None:
            out.append((model_id, during, cordon, gpus))
        elif day is not None:
            found.coming.append(Coming(model_id, _begin_of(day), gpus))
        else:
            found.healthy[model_id] = gpus
    return Supply(found.healthy, _in_order(out), sorted(found.coming, key=lambda row: (row.starts_at, row.model_id)))


def coming() -> list[Coming]:
    """What is announced for a day that is still to come, earliest first; one that is late counts for nothing."""
    rows = _arrivals().values_list("model_id", "arrives_on", "gpus")
    found = [Coming(model_id, _begin_of(day), gpus) for model_id, day, gpus in rows]
    return sorted(found, key=lambda row: (row.starts_at, row.model_id))


def outages() -> list[Outage]:
    """Each cordon that is in force or still to come, once for each model of GPUs on its node, earliest first."""
    return _in_order(_out())


def _healthy() -> QuerySet[Any]:
    return units().filter(lost_at=None).order_by().values_list("model_id")


def _arrivals() -> QuerySet[Any]:
    # A day that has come without the hardware proves nothing: it counts again once somebody names another day.
    due = Arrival.objects.filter(arrived_at=None, cancelled_at=None, arrives_on__gt=timezone.localdate())
    rows: QuerySet[Any] = due.order_by().values_list("model_id")
    return rows


def _begin_of(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


def _out(**columns: Cast) -> QuerySet[Any]:
    """(GPU model id, time, cordon, `columns`, GPUs) of each cordon that is in force or still to come."""
    ends_later = Q(during__endswith=None) | Q(during__endswith__gt=timezone.now())
    rows = Cordon.objects.filter(ends_later, node__gpus__in=units().filter(lost_at=None)).order_by()
    named = rows.values_list("node__gpus__model_id", "during", "pk")
    counted: QuerySet[Any] = named.annotate(**columns, gpus=Count("node__gpus"))
    return counted


def _in_order(rows: Iterable[tuple[int, Any, int, int]]) -> list[Outage]:
    now = timezone.now()
    found = [Outage(model_id, during.lower or now, during.upper, gpus) for model_id, during, _pk, gpus in rows]
    return sorted(found, key=lambda outage: (outage.starts_at, outage.model_id))
