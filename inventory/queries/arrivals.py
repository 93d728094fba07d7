"""Planned arrivals as pages list them."""

from django.db.models import BooleanField, Case, QuerySet, Value, When
from django.utils import timezone

from inventory.models import Arrival


def arrivals_to_come() -> QuerySet[Arrival]:
    """What is announced and neither there nor cancelled, earliest day first; `is_late` from its day on."""
    late = Case(
        When(arrives_on__lte=timezone.localdate(), then=Value(True)), default=False, output_field=BooleanField()
    )
    rows = Arrival.objects.filter(arrived_at=None, cancelled_at=None).select_related("model")
    return rows.annotate(is_late=late).order_by("arrives_on", "pk")


def arrivals_over() -> QuerySet[Arrival]:
    """What came or was cancelled, newest announcement first."""
    return Arrival.objects.exclude(arrived_at=None, cancelled_at=None).select_related("model").order_by("-pk")
