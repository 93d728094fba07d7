"""What goes out to one person by one channel: a message alone, or many in one; and why it may not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import NAMESPACE_URL, uuid5

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from allocations.models import Notice, OutboxMessage, Person
from allocations.notify import address, page

AT_ONCE = 1  # refusals after which a message is parked where no repeat can help
PARKED_AFTER = 10  # where the server said that it will not take it: about half a day, then a person looks at it
PATIENT = 48  # where nothing says whose fault it is: more than three days of tries, longer than a weekend's outage
MOST_LINES = {OutboxMessage.Channel.CHAT: 20}  # of a digest: what a chat shows without "more"; mail takes all


class Out(Exception):
    """The server is out for everybody: no message's fault, so it counts against none."""


class Refused(Exception):
    """This letter was not taken; its messages are parked at the refusal number `park_after`."""

    def __init__(self, why: str, *, park_after: int) -> None:
        super().__init__(why)
        self.park_after = park_after


@dataclass(frozen=True)
class Letter:
    """`reference` is the same whenever the same messages go out again, so that a receiver can drop a repeat."""

    person: Person
    reference: str
    subject: str
    body: str


class Channel(Protocol):
    """A way out of the building, for the time of one call of the task."""

    def send(self, letter: Letter) -> None:
        """The server has taken it. Raises Out, Refused."""

    def close(self) -> None:
        """Nothing stays open."""


@dataclass(frozen=True)
class Item:
    """A message with the address of its page."""

    subject: str
    body: str
    link: str


def write_letter(messages: Sequence[OutboxMessage]) -> Letter:
    """The messages of one person and channel, oldest first, as one letter; one query."""
    first = messages[0]
    paths = dict(
        Notice.objects.filter(person=first.person_id, event__in=[message.event_id for message in messages]).values_list(
            "event", "path"
        )
    )
    items = [Item(_one_line(each.subject), each.body, address(paths.get(each.event_id, ""))) for each in messages]
    if len(items) == 1:
        reference, subject, template = str(first.public_id), items[0].subject, f"notices/{first.channel}.txt"
    else:
        reference = str(uuid5(NAMESPACE_URL, " ".join(str(message.public_id) for message in messages)))
        subject = _("%(n)d notices, the first: %(first)s") % {"n": len(items), "first": items[0].subject}
        template = f"notices/{first.channel}_digest.txt"
    most = MOST_LINES.get(OutboxMessage.Channel(first.channel), len(items))
    context = {
        "items": items[:most],
        "left": len(items[most:]),
        "inbox": address(page("inbox")),
        "reference": reference,
    }
    return Letter(first.person, reference, subject, render_to_string(template, context).strip())


def _one_line(text: str) -> str:
    return " ".join(text.split())  # a line break in a title would be another header
