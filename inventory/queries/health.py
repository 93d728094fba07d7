"""How many GPUs there are to promise: healthy now, and out of use for a known while."""

from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, Q
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
    counts = units().filter(lost_at=None).order_by().values_list("model_id").annotate(gpus=Count("pk"))
    return dict(counts)


def outages() -> list[Outage]:
    """Each cordon that is in force or still to come, once for each model of GPUs on its node, earliest first."""
    now = timezone.now()
    rows = (
        Cordon.objects.filter(
            Q(during__endswith=None) | Q(during__endswith__gt=now), node__gpus__in=units().filter(lost_at=None)
        )
        .values_list("node__gpus__model_id", "during", "pk")
        .annotate(gpus=Count("node__gpus"))
    )
    found = [Outage(model_id, during.lower or now, during.upper, gpus) for model_id, during, _pk, gpus in rows]
    return sorted(found, key=lambda outage: (outage.starts_at, outage.model_id))
