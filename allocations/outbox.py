"""Deliver what left the building: each message at least once by mail, after its decision stands, through outages."""

from datetime import timedelta
from smtplib import SMTPException

import structlog
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.utils import timezone

from allocations.models import OutboxMessage

MAIL_TIMEOUT_S = 10  # a server that says nothing for so long is out; the row of one message is locked meanwhile
MOST_A_CALL = 200  # ends before the task's time limit also where each message takes a second
FIRST_PAUSE = timedelta(seconds=30)  # doubled at each refusal of a message: most are rate limits that pass in minutes
LONGEST_PAUSE = timedelta(hours=2)
PARKED_AFTER = 10  # refusals of one message, about half a day: then a person looks at it
OUTAGE_PAUSE = timedelta(minutes=1)  # the server is out for all: no message's fault, so it counts against none
FAULT_LIMIT = 200  # the column's width

log = structlog.get_logger(__name__)


def deliver_due() -> int:
    """Every message that is due has been sent, put off or parked; returns how many were sent.

    Claims one row at a time, so that several workers share the work. A crash between the mail and its stamp sends the
    mail again, under the same Message-ID. Stops at the first sign that the mail server is out; the next call retries.
    """
    connection = get_connection(timeout=MAIL_TIMEOUT_S)
    sent = 0
    try:
        for _turn in range(MOST_A_CALL):
            delivered = _deliver_one(connection)
            if delivered is None:
                break
            sent += delivered
    finally:
        connection.close()
    return sent


def _deliver_one(connection: BaseEmailBackend) -> bool | None:
    """Whether the claimed message was sent; None when no more can be."""
    with transaction.atomic():
        due = OutboxMessage.objects.filter(sent_at=None, parked_at=None, not_before__lte=timezone.now())
        message = (
            due.select_for_update(skip_locked=True, of=("self",))
            .select_related("person")
            .order_by("not_before", "pk")
            .first()
        )
        if message is None:
            return None
        if not message.person.email:
            _refused(message, "the person has no mail address", park=True)
            return False
        try:
            connection.open()
        except OSError as error:  # SMTPException is one
            _postpone(message, OUTAGE_PAUSE, str(error))
            return None
        try:
            _mail(message, connection).send()
        except (SMTPException, OSError) as error:
            connection.close()  # what follows needs a fresh conversation
            _refused(message, str(error), park=message.attempts + 1 >= PARKED_AFTER)
            return False
        message.sent_at = timezone.now()
        message.attempts += 1
        message.fault = ""
        message.save(update_fields=["sent_at", "attempts", "fault"])
        return True


def _mail(message: OutboxMessage, connection: BaseEmailBackend) -> EmailMessage:
    return EmailMessage(
        subject=" ".join(message.subject.split()),  # a line break in a title would be another header
        body=message.body,
        to=[message.person.email],
        headers={"Message-ID": f"<{message.public_id}@allot>", "Auto-Submitted": "auto-generated"},
        connection=connection,
    )


def _refused(message: OutboxMessage, why: str, *, park: bool) -> None:
    message.attempts += 1
    if park:
        message.parked_at = timezone.now()
        log.error("message parked", message=str(message.public_id), person=message.person_id, why=why)
    pause = min(FIRST_PAUSE * 2 ** (message.attempts - 1), LONGEST_PAUSE)
    _postpone(message, pause, why)


def _postpone(message: OutboxMessage, pause: timedelta, why: str) -> None:
    message.not_before = timezone.now() + pause
    message.fault = why[:FAULT_LIMIT]
    message.save(update_fields=["attempts", "parked_at", "not_before", "fault"])
    log.warning("message put off", message=str(message.public_id), why=why)
