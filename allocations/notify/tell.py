"""Write what people are told, in the transaction of the decision."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone

from allocations.models import Notice, NoticePreference, OutboxMessage, Person
from allocations.notify.quiet import quiet_until
from inventory.models import Event

SUBJECT_LIMIT = 200  # the column's width


class Text(NamedTuple):
    """What a person is told under a subject, and the path of the page that it is about."""

    body: str
    path: str = ""


class Telling(NamedTuple):
    """What is told about one event, to whom, under which subject."""

    event: Event
    texts: Mapping[Person, Text]
    subject: str


def tell(
    event: Event,
    people: Iterable[Person],
    subject: str,
    body: str,
    path: str = "",
    *,
    not_before: datetime | None = None,
) -> None:
    """Each of the people with a live account hears of the event once, whatever happens to the servers outside.

    `path` is the page that it is about, "" for none. Before `not_before` it shows nowhere and leaves by no way. Three
    statements, however many people; a repeat for the same event and person changes nothing. The caller's transaction
    decides whether the rows stand.
    """
    tell_each(event, dict.fromkeys(people, Text(body, path)), subject, not_before=not_before)


def tell_each(event: Event, texts: Mapping[Person, Text], subject: str, *, not_before: datetime | None = None) -> None:
    """As `tell`, with a text and a page of their own for each of the people."""
    tell_many([Telling(event, texts, subject)], not_before=not_before)


def tell_many(tellings: Iterable[Telling], *, not_before: datetime | None = None) -> None:
    """As `tell_each`, for any number of events, in as many statements as for one."""
    rows = [
        (told.event, person, told.subject[:SUBJECT_LIMIT], told.texts[person])
        for told in tellings
        for person in sorted(told.texts, key=lambda person: person.pk)
        if person.is_active
    ]
    if not rows:
        return
    at = not_before or timezone.now()
    Notice.objects.bulk_create(
        (
            Notice(event=event, person=who, subject=subject, at=at, **text._asdict())
            for event, who, subject, text in rows
        ),
        ignore_conflicts=True,
    )
    wishes = NoticePreference.objects.in_bulk({person.pk for _event, person, *_rest in rows})
    OutboxMessage.objects.bulk_create(
        (
            OutboxMessage(
                event=event,
                person=person,
                channel=channel,
                subject=subject,
                body=text.body,
                not_before=quiet_until(at, person, wishes.get(person.pk)) or at,
            )
            for event, person, subject, text in rows
            for channel in _channels(wishes.get(person.pk))
        ),
        ignore_conflicts=True,
    )


def page(*parts: object) -> str:
    """The path of a page of the portal: /pitches/.../."""
    return "/".join(["", *map(str, parts), ""])


def address(path: str) -> str:
    """A page's path as a whole address, as it stands in what leaves the building; "" for no page."""
    return settings.PORTAL_URL.rstrip("/") + path if path else ""


def _channels(wish: NoticePreference | None) -> list[str]:
    if wish is None:
        return [OutboxMessage.Channel.MAIL]
    wanted = {
        OutboxMessage.Channel.MAIL: wish.by_mail,
        OutboxMessage.Channel.CHAT: wish.by_chat and bool(wish.chat_url),
    }
    return [channel for channel, is_wanted in wanted.items() if is_wanted]
