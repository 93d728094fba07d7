"""Planned arrivals: hardware that is to come on a day, announced, cancelled, and marked as come, each in the trail."""

from datetime import date
from typing import Any

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from inventory import trail
from inventory.errors import WrongArrival
from inventory.models import Arrival, GpuModel


@transaction.atomic
def announce_arrival(
    *, model: GpuModel, gpus: int, arrives_on: date, by: models.Model, reason: str, site: str = "", island: str = ""
) -> Arrival:
    """`gpus` of that model count for promises from `arrives_on` on, marked as not there yet.

    Raises WrongArrival for no GPUs, or a day that is not to come.
    """
    if gpus < 1:
        raise WrongArrival(_("An arrival brings at least one GPU."))
    if arrives_on <= timezone.localdate():
        raise WrongArrival(_("The day of an arrival lies in the future."))
    row = Arrival.objects.create(
        model=model,
        gpus=gpus,
        arrives_on=arrives_on,
        site=site,
        island=island,
        reason=reason,
        announced_at=timezone.now(),
    )
    _record("arrival.announced", row, by=by, reason=reason)
    return row


@transaction.atomic
def move_arrival(*, arrival: Arrival, arrives_on: date, by: models.Model, reason: str) -> Arrival:
    """It comes on another day: it counts for promises from that one on.

    Raises WrongArrival if it has come or was cancelled, or for a day that is not to come.
    """
    if arrives_on <= timezone.localdate():
        raise WrongArrival(_("The day of an arrival lies in the future."))
    row = Arrival.objects.select_for_update(of=("self",)).select_related("model").get(pk=arrival.pk)
    if row.arrived_at or row.cancelled_at:
        raise WrongArrival(_("This arrival has come or was cancelled before."))
    before, row.arrives_on = row.arrives_on, arrives_on
    if before != arrives_on:
        row.save(update_fields=["arrives_on"])
        _record("arrival.moved", row, by=by, reason=reason, before=before)
    return row


@transaction.atomic
def cancel_arrival(*, arrival: Arrival, by: models.Model, reason: str) -> Arrival:
    """It will not come, or not then: it counts for no promise any more.

    Raises WrongArrival if it has come or was cancelled.
    """
    return _end(arrival, "cancelled_at", "arrival.cancelled", by=by, reason=reason)


@transaction.atomic
def mark_arrived(*, arrival: Arrival, by: models.Model, reason: str = "") -> Arrival:
    """It is there: from now on what surveys see counts. Raises WrongArrival if it came before, or was cancelled."""
    return _end(arrival, "arrived_at", "arrival.arrived", by=by, reason=reason)


def _end(arrival: Arrival, stamp: str, verb: str, *, by: models.Model, reason: str) -> Arrival:
    now = timezone.now()
    open_one = Arrival.objects.filter(pk=arrival.pk, arrived_at=None, cancelled_at=None)
    if not open_one.update(**{stamp: now}):
        raise WrongArrival(_("This arrival has come or was cancelled before."))
    setattr(arrival, stamp, now)
    _record(verb, arrival, by=by, reason=reason)
    return arrival


def _record(verb: str, row: Arrival, *, by: models.Model, reason: str, **facts: Any) -> None:
    facts |= {"arrives_on": row.arrives_on}
    trail.record(verb, row, by=by, reason=reason, model=row.model.name, gpus=row.gpus, site=row.site, **facts)
