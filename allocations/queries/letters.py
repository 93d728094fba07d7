"""How the outbox stands: what waits to leave the building, and what was given up."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, Q
from django.utils import timezone

from allocations.models import OutboxMessage


@dataclass(frozen=True, slots=True)
class Letters:
    """`waiting`: due and not sent, the oldest since `since`; `parked`: given up, a person looks."""

    waiting: int
    since: datetime | None
    parked: int


def letters() -> Letters:
    """The outbox now; one query."""
    due, given_up = Q(parked_at=None, not_before__lte=timezone.now()), Q(parked_at__isnull=False)
    told = OutboxMessage.objects.filter(sent_at=None).aggregate(
        waiting=Count("pk", filter=due), since=Min("not_before", filter=due), parked=Count("pk", filter=given_up)
    )
    return Letters(**told)
