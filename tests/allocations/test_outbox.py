"""What leaves the building: written with the decision, delivered after it, through outages, and parked in the end."""

import smtplib
from datetime import timedelta

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection, transaction

from allocations import notify, outbox, pitches, tasks
from allocations.models import OutboxMessage, Pitch
from inventory import trail
from tests import factories
from tests.allocations.acts import approve, draft, submit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

HERE = "tests.allocations.test_outbox"


class Down(EmailBackend):
    """A mail server that nobody reaches."""

    def open(self):
        raise ConnectionRefusedError("nobody listens")


class Picky(EmailBackend):
    """A mail server that takes nothing for the head of research."""

    def send_messages(self, messages):
        if messages[0].to == ["research-head@lab.example"]:
            raise smtplib.SMTPRecipientsRefused({"research-head@lab.example": (550, b"no such mailbox")})
        return super().send_messages(messages)


class Crash(BaseException):
    """The worker is killed."""


class Killed(EmailBackend):
    """A mail server that accepts the mail, whereupon the worker dies."""

    def send_messages(self, messages):
        super().send_messages(messages)
        raise Crash


def recipients():
    return sorted(message.to[0].partition("@")[0] for message in mail.outbox)


def test_what_is_due_is_mailed_once_with_its_own_id(world):
    pitch = submit(world)

    sent = outbox.deliver_due()
    again = outbox.deliver_due()

    message = OutboxMessage.objects.get(person=world.chief)
    posted = next(each for each in mail.outbox if each.to == ["chief-scientist@lab.example"])
    assert (sent, again, recipients()) == (2, 0, ["chief-scientist", "research-head"])
    assert posted.extra_headers["Message-ID"] == f"<{message.public_id}@allot>"
    assert posted.subject == "Fold larger proteins waits for your signature"
    assert posted.body.endswith(f"/queue/{pitch.public_id}/")
    assert (message.attempts, message.sent_at is not None, message.fault) == (1, True, "")


def test_a_mail_that_cannot_be_written_is_parked_and_holds_up_no_other(world):
    world.chief.email = f"chief@{'ü' * 70}.example"
    world.chief.save()
    submit(world)

    outbox.deliver_due()

    message = OutboxMessage.objects.get(person=world.chief)
    assert (message.sent_at, message.parked_at is not None, message.attempts) == (None, True, 1)
    assert message.fault.startswith("no mail can be made of it: ")
    assert recipients() == ["research-head"]


def test_the_task_delivers(world):
    submit(world)

    tasks.deliver()

    assert recipients() == ["chief-scientist", "research-head"]


def test_a_decision_that_is_refused_tells_nobody(world):
    pitch = submit(world, gpus=40)
    approve(world, pitch, world.chief, "chief-scientist")
    factories.grant(world.project, gpus=48)
    before = OutboxMessage.objects.count()

    with pytest.raises(Exception, match="left"):
        approve(world, pitch, world.head, "research-head")

    assert OutboxMessage.objects.count() == before


def test_a_mail_server_that_is_out_stops_no_decision_and_loses_nothing(world, settings, time_machine, noon):
    settings.EMAIL_BACKEND = f"{HERE}.Down"
    pitch = submit(world)
    assert outbox.deliver_due() == 0
    approve(world, pitch, world.chief, "chief-scientist")
    approve(world, pitch, world.head, "research-head")
    assert outbox.deliver_due() == 0
    assert OutboxMessage.objects.filter(parked_at=None, sent_at=None, attempts=0).count() == 3
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    time_machine.move_to(noon + outbox.OUTAGE_PAUSE, tick=False)

    assert outbox.deliver_due() == 3

    assert (Pitch.objects.get().state, recipients()) == ("granted", ["chief-scientist", "pitcher", "research-head"])


def test_a_week_of_outage_parks_nothing(world, settings, time_machine, noon):
    settings.EMAIL_BACKEND = f"{HERE}.Down"
    submit(world)
    for hour in range(7 * 24):
        time_machine.move_to(noon + timedelta(hours=hour), tick=False)
        outbox.deliver_due()

    assert OutboxMessage.objects.filter(parked_at=None, attempts=0).count() == 2


def test_a_message_that_is_refused_is_put_off_longer_each_time_and_parked_in_the_end(
    world, settings, time_machine, noon
):
    settings.EMAIL_BACKEND = f"{HERE}.Picky"
    submit(world)
    pauses = []
    for _ in range(outbox.PARKED_AFTER):
        outbox.deliver_due()
        message = OutboxMessage.objects.get(person=world.head)
        pauses.append(int((message.not_before - noon).total_seconds()))
        noon = message.not_before
        time_machine.move_to(noon, tick=False)

    assert pauses == [30, 60, 120, 240, 480, 960, 1920, 3840, 7200, 7200]
    assert (message.attempts, message.parked_at is not None, message.sent_at) == (10, True, None)
    assert message.fault == "{'research-head@lab.example': (550, b'no such mailbox')}"
    assert (outbox.deliver_due(), recipients()) == (0, ["chief-scientist"])


def test_somebody_without_an_address_stops_nobody_else(world):
    world.chief.email = ""
    world.chief.save()
    submit(world)

    assert outbox.deliver_due() == 1

    parked = OutboxMessage.objects.get(person=world.chief)
    assert (parked.parked_at is not None, parked.fault) == (True, "the person has no mail address")


def test_a_worker_killed_after_the_mail_sends_it_again_under_the_same_id(world, settings):
    settings.EMAIL_BACKEND = f"{HERE}.Killed"
    submit(world)
    with pytest.raises(Crash):
        outbox.deliver_due()
    assert OutboxMessage.objects.filter(sent_at=None, attempts=0).count() == 2
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"

    assert outbox.deliver_due() == 2

    ids = [message.extra_headers["Message-ID"] for message in mail.outbox]
    assert (len(ids), len(set(ids))) == (3, 2)


def test_a_line_break_in_a_title_makes_no_other_header(world):
    submit(world, title="Fold\nBcc: everyone@lab.example")

    outbox.deliver_due()

    assert {message.subject for message in mail.outbox} == {"Fold Bcc: everyone@lab.example waits for your signature"}
    assert {tuple(message.recipients()) for message in mail.outbox} == {
        ("chief-scientist@lab.example",),
        ("research-head@lab.example",),
    }


def test_nobody_hears_of_one_event_twice_and_who_left_hears_nothing(world):
    world.head.is_active = False
    world.head.save()
    with transaction.atomic():
        event = trail.record("pitch.submitted", draft(world), by=world.pitcher)
        notify.tell(event, [world.chief, world.chief, world.head], "s" * 300, "body")

    message = OutboxMessage.objects.get()
    assert (message.person, len(message.subject)) == (world.chief, 200)


def test_no_mail_is_sent_inside_a_decision(world, monkeypatch):
    """A server that hangs would hold the shares of everybody; the outbox alone speaks to it, on its own row."""
    monkeypatch.setattr(EmailBackend, "open", lambda self: pytest.fail("a decision spoke to the mail server"))
    pitch = submit(world)
    approve(world, pitch, world.chief, "chief-scientist")
    pitches.withdraw_pitch(pitch=pitch, by=world.pitcher)

    assert (mail.outbox, connection.in_atomic_block) == ([], True)
