"""A burst leaves as one letter: all of it, once, also when two workers come at the same time or one of them dies."""

from datetime import time, timedelta

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import transaction
from django.utils import timezone

from allocations import notify, outbox
from allocations.models import Notice, NoticePreference, OutboxMessage
from allocations.outbox import deliver
from inventory import trail
from tests import factories
from tests.allocations.servers import ChatServer
from tests.races import Window, at_once

HERE = "tests.allocations.test_outbox_digests"


class Crash(BaseException):
    """The worker is killed."""


class Killed(EmailBackend):
    """A mail server that accepts the mail, whereupon the worker dies."""

    def send_messages(self, messages):
        super().send_messages(messages)
        raise Crash


@transaction.atomic
def burst(lab, count, *people, noun="gpu"):
    """So many GPUs are lost at once, each an event that the people hear of."""
    for number in range(count):
        event = trail.record("project.resumed", lab.project, by=lab.ops)
        notify.tell(
            event, people or [lab.ops], f"GPU {number} is lost", "It answers no more.", f"/nodes/{noun}-{number}/"
        )


def sent_at_once(message) -> tuple[str, list[str]]:
    """The letter's subject, and its lines."""
    return message.subject, message.body.splitlines()


@pytest.mark.django_db
@pytest.mark.usefixtures("noon")
class TestDigest:
    def test_so_many_are_one_letter_with_all_subjects_and_links(self, lab):
        burst(lab, outbox.DIGEST_FROM)

        sent, again = outbox.deliver_due(), outbox.deliver_due()

        assert (sent, again, len(mail.outbox)) == (outbox.DIGEST_FROM, 0, 1)
        lines = [
            text
            for number in range(outbox.DIGEST_FROM)
            for text in (f"- GPU {number} is lost", f"  http://127.0.0.1:8000/nodes/gpu-{number}/")
        ]
        assert sent_at_once(mail.outbox[0]) == (
            "5 notices, the first: GPU 0 is lost",
            [*lines, "", "Each with its text: http://127.0.0.1:8000/inbox/"],
        )
        stamps = set(OutboxMessage.objects.values_list("sent_at", "attempts", "fault"))
        assert stamps == {(timezone.now(), 1, "")}

    def test_fewer_leave_one_by_one(self, lab):
        burst(lab, outbox.DIGEST_FROM - 1)

        outbox.deliver_due()

        assert [message.subject for message in mail.outbox] == [f"GPU {number} is lost" for number in range(4)]

    def test_500_gpus_that_go_down_at_once_are_one_letter_for_each_person(self, lab):
        burst(lab, 500, lab.ops, lab.lead)

        assert outbox.deliver_due() == 1000

        assert sorted(message.to[0] for message in mail.outbox) == ["lead@lab.example", "ops@lab.example"]
        assert Notice.objects.filter(person=lab.ops).count() == 500

    def test_a_chat_gets_the_first_lines_and_how_many_more(self, lab):
        server = ChatServer()
        NoticePreference.objects.create(person=lab.ops, by_mail=False, by_chat=True, chat_url=server.url)
        burst(lab, 30)

        with server.up():
            assert outbox.deliver_due() == 30

        [post] = server.posts
        lines = post["message"].splitlines()
        assert post["title"] == "30 notices, the first: GPU 0 is lost"
        assert [line for line in lines if line.startswith("- ")] == [f"- GPU {number} is lost" for number in range(20)]
        assert lines[40:43] == ["and 10 more", "", "Each with its text: http://127.0.0.1:8000/inbox/"]

    def test_a_worker_killed_after_the_letter_sends_it_again_under_the_same_id(self, lab, settings):
        burst(lab, 6)
        settings.EMAIL_BACKEND = f"{HERE}.Killed"
        with pytest.raises(Crash):
            outbox.deliver_due()
        assert OutboxMessage.objects.filter(sent_at=None, attempts=0).count() == 6
        settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"

        assert outbox.deliver_due() == 6

        first, second = mail.outbox
        assert first.extra_headers == second.extra_headers
        assert (first.subject, first.body) == (second.subject, second.body)

    def test_a_digest_that_is_refused_is_put_off_as_a_whole(self, lab, monkeypatch, noon):
        lab.ops.email = ""
        lab.ops.save()
        burst(lab, 6)

        outbox.deliver_due()

        rows = set(OutboxMessage.objects.values_list("attempts", "parked_at", "fault"))
        assert rows == {(1, noon, "the person has no mail address")}

    def test_quiet_hours_hold_what_was_told_before_them_too(self, lab, time_machine, noon):
        burst(lab, 3)
        NoticePreference.objects.create(person=lab.ops, quiet_from=time(22), quiet_until=time(7))
        time_machine.move_to(noon.replace(hour=23), tick=False)
        assert outbox.deliver_due() == 0
        assert set(OutboxMessage.objects.values_list("not_before", "attempts")) == {
            (noon.replace(hour=7) + timedelta(days=1), 0)
        }
        burst(lab, 3)
        time_machine.move_to(noon.replace(hour=7) + timedelta(days=1), tick=False)

        assert outbox.deliver_due() == 6

        assert [message.subject for message in mail.outbox] == ["6 notices, the first: GPU 0 is lost"]

    def test_other_peoples_messages_and_other_channels_are_not_in_it(self, lab):
        server = ChatServer()
        NoticePreference.objects.create(person=lab.ops, by_chat=True, chat_url=server.url)
        burst(lab, 5, lab.ops)
        burst(lab, 1, lab.lead, noun="other")

        with server.up():
            assert outbox.deliver_due() == 11

        assert {message.to[0]: message.subject for message in mail.outbox} == {
            "ops@lab.example": "5 notices, the first: GPU 0 is lost",
            "lead@lab.example": "GPU 0 is lost",
        }
        assert [post["title"] for post in server.posts] == ["5 notices, the first: GPU 0 is lost"]


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_make_one_digest(lab, monkeypatch):
    burst(lab, 6)
    window = Window()
    monkeypatch.setattr(deliver, "_claim_first", window.after(deliver._claim_first))

    sent = at_once(outbox.deliver_due, outbox.deliver_due)

    assert (sorted(sent), window.met) == ([0, 6], True)
    assert [message.subject for message in mail.outbox] == ["6 notices, the first: GPU 0 is lost"]


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_serve_two_people(lab, monkeypatch):
    burst(lab, 5, lab.ops)
    burst(lab, 5, lab.lead)
    window = Window()
    monkeypatch.setattr(deliver, "write_letter", window.after(deliver.write_letter))

    sent = at_once(outbox.deliver_due, outbox.deliver_due)

    assert (sent, window.met) == ([5, 5], True)  # neither waited for the other's person


@pytest.mark.django_db(transaction=True)
def test_a_decision_does_not_wait_for_a_letter_that_is_on_its_way(lab, monkeypatch):
    burst(lab, 5, lab.ops)
    window = Window()
    monkeypatch.setattr(deliver, "write_letter", window.after(deliver.write_letter))

    def decide():
        burst(lab, 1, lab.ops, noun="later")
        factories.person("somebody-new")
        window.enter()
        return "decided"

    outcomes = at_once(outbox.deliver_due, decide)

    assert (outcomes[1], window.met) == ("decided", True)
