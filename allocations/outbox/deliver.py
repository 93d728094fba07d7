"""Deliver what is due: each message at least once by its channel, many for one person as one digest."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from time import monotonic

import structlog
from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from allocations.models import NoticePreference, OutboxMessage
from allocations.notify import quiet_until
from allocations.outbox.chat import Chat
from allocations.outbox.letters import PATIENT, Channel, Out, Refused, write_letter
from allocations.outbox.mail import Mail

CHANNELS: dict[str, Callable[[], Channel]] = {OutboxMessage.Channel.MAIL: Mail, OutboxMessage.Channel.CHAT: Chat}
# Both channels together end before the task's soft limit of 240 s, the last letter's timeout included.
CHANNEL_MOST_S = 90
REFUSALS_A_CALL = 5  # without a reason: each may have cost a timeout, and the rest waits for the next call
DIGEST_FROM = 5  # so many at once are a burst: one letter with all of them is read, five letters are not
DIGEST_MOST = 1000  # lines of one letter; a burst beyond that makes another one
FIRST_PAUSE = timedelta(seconds=30)  # doubled at each refusal of a message: most are rate limits that pass in minutes
LONGEST_PAUSE = timedelta(hours=2)
OUTAGE_PAUSE = timedelta(minutes=1)
FAULT_LIMIT = 200  # the column's width

log = structlog.get_logger(__name__)


def deliver_due() -> int:
    """Every message that is due has been sent, put off or parked; returns how many were sent.

    Claims one person's messages at a time, so that several workers share the work. A crash between the letter and its
    stamp sends it again, under the same reference. A channel whose server is out ends its own turn only; the next call
    retries.
    """
    return sum(_deliver_by(name, make()) for name, make in CHANNELS.items())


def _deliver_by(name: str, channel: Channel) -> int:
    sent, refusals, ends_at_s = 0, 0, monotonic() + CHANNEL_MOST_S
    try:
        while refusals < REFUSALS_A_CALL and monotonic() < ends_at_s:
            try:
                delivered = _deliver_next(name, channel)
            except Refused as refusal:
                refusals += refusal.park_after == PATIENT
                continue
            if delivered is None:
                break
            sent += delivered
    finally:
        channel.close()
    return sent


def _deliver_next(name: str, channel: Channel) -> int | None:
    """How many messages were sent; None when no more can be. Raises Refused once the refusal is written."""
    with transaction.atomic():
        claimed = _claim(name)
        if not claimed:
            return None
        quiet = quiet_until(timezone.now(), claimed[0].person, _wish(claimed[0]))
        if quiet is not None:
            _put_off(claimed, until=quiet)
            return 0
        going = claimed if len(claimed) >= DIGEST_FROM else claimed[:1]
        try:
            channel.send(write_letter(going))
        except Out as out:
            _put_off(claimed, until=timezone.now() + OUTAGE_PAUSE, why=str(out))
            return None
        except Refused as refusal:
            _refused(going, refusal)
            refused = refusal
        else:
            rows = OutboxMessage.objects.filter(pk__in=[message.pk for message in going])
            return rows.update(sent_at=timezone.now(), attempts=F("attempts") + 1, fault="")
    raise refused


def _claim(name: str) -> Sequence[OutboxMessage]:
    """What is due for the person who waits longest, locked; nothing where other workers have it all."""
    due = OutboxMessage.objects.filter(channel=name, sent_at=None, parked_at=None, not_before__lte=timezone.now())
    first = _claim_first(due)
    if first is None:
        return []
    theirs = due.filter(person=first.person_id).select_related("person__notice_preference")
    return list(theirs.select_for_update(skip_locked=True, of=("self",)).order_by("pk")[:DIGEST_MOST])


def _claim_first(due: QuerySet[OutboxMessage]) -> OutboxMessage | None:
    """The message that waits longest among the first ones of all people, locked.

    No other may be claimed: so two workers never share the messages of one person, and a digest stays whole.
    """
    first = due.filter(~Exists(due.filter(person=OuterRef("person"), pk__lt=OuterRef("pk"))))
    return first.select_for_update(skip_locked=True, of=("self",)).order_by("not_before", "pk").first()


def _wish(message: OutboxMessage) -> NoticePreference | None:
    return getattr(message.person, "notice_preference", None)


def _refused(messages: Sequence[OutboxMessage], refusal: Refused) -> None:
    attempts = max(message.attempts for message in messages) + 1
    parked = attempts >= refusal.park_after
    for message in messages:
        message.attempts = attempts
        message.parked_at = timezone.now() if parked else None
    OutboxMessage.objects.bulk_update(messages, ["attempts", "parked_at"])
    if parked:
        log.error("messages parked", messages=_ids(messages), person=messages[0].person_id, why=str(refusal))
    doublings = min(attempts - 1, 10)  # beyond that the pause is the longest anyway
    pause = min(FIRST_PAUSE * 2**doublings, LONGEST_PAUSE)
    _put_off(messages, until=timezone.now() + pause, why=str(refusal))


def _put_off(messages: Sequence[OutboxMessage], *, until: datetime, why: str = "") -> None:
    rows = OutboxMessage.objects.filter(pk__in=[message.pk for message in messages])
    rows.update(not_before=until, fault=why[:FAULT_LIMIT])
    if why:
        log.warning("messages put off", messages=_ids(messages), why=why)


def _ids(messages: Sequence[OutboxMessage]) -> list[str]:
    return [str(message.public_id) for message in messages]
