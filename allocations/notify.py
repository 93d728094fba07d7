"""Say to people what happened: rows of the outbox, written in the transaction of the decision."""

from collections.abc import Iterable

from django.conf import settings
from django.utils import timezone

from allocations.models import OutboxMessage, Person
from inventory.models import Event

SUBJECT_LIMIT = 200  # the column's width


def tell(event: Event, people: Iterable[Person], subject: str, body: str) -> None:
    """Each of the people with a live account will hear of the event once, whatever happens to the mail server.

    One statement; the caller's transaction decides whether the rows stand.
    """
    now = timezone.now()
    OutboxMessage.objects.bulk_create(
        OutboxMessage(event=event, person=person, subject=subject[:SUBJECT_LIMIT], body=body, not_before=now)
        for person in sorted(set(people), key=lambda person: person.pk)
        if person.is_active
    )


def link(*path: object) -> str:
    """The address of a page of the portal, for the body of a message."""
    return "/".join([settings.PORTAL_URL.rstrip("/"), *map(str, path), ""])
