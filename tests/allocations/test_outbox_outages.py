"""Real servers that are down for a day, refuse, or come back: each message arrives once, by each channel on its own."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import notify, outbox
from allocations.models import NoticePreference, OutboxMessage
from allocations.outbox import chat
from inventory import trail
from tests.allocations.servers import ChatServer, MailServer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

HOUR = timedelta(hours=1)


@pytest.fixture
def mail_server(settings) -> MailServer:
    server = MailServer()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
    return server


@pytest.fixture
def chat_server(lab) -> ChatServer:
    """Where the lead reads, beside the mail."""
    server = ChatServer()
    NoticePreference.objects.create(person=lab.lead, by_chat=True, chat_url=server.url)
    return server


def tell(lab, subject="It goes on", body="All of it."):
    event = trail.record("project.resumed", lab.project, by=lab.ops)
    notify.tell(event, [lab.lead], subject, body, "/projects/protein-folding/")


def waiting() -> list[str]:
    return sorted(OutboxMessage.objects.filter(sent_at=None).values_list("channel", flat=True))


def test_a_message_arrives_with_its_text_its_link_and_its_id(lab, mail_server, chat_server):
    tell(lab, subject='<b>"It" & more</b>')

    with mail_server.up(), chat_server.up():
        sent = outbox.deliver_due()

    by_channel = {message.channel: message for message in OutboxMessage.objects.all()}
    [mail], [post] = mail_server.mails, chat_server.posts
    address = "http://127.0.0.1:8000/projects/protein-folding/"
    assert (sent, waiting()) == (2, [])
    assert (mail["To"], mail["Subject"]) == ("lead@lab.example", '<b>"It" & more</b>')
    assert mail["Message-ID"] == f"<{by_channel['mail'].public_id}@allot>"
    assert mail.get_content().splitlines() == ["All of it.", "", address]
    assert post["title"] == '<b>"It" & more</b>'
    assert post["message"].splitlines() == ["All of it.", "", address, f"Ref. {by_channel['chat'].public_id}"]


@pytest.mark.parametrize("out", ["mail", "chat"])
def test_one_channel_that_is_out_does_not_stop_the_other(lab, mail_server, chat_server, out):
    tell(lab)

    with (chat_server if out == "mail" else mail_server).up():
        sent = outbox.deliver_due()

    assert (sent, waiting()) == (1, [out])
    assert (len(mail_server.mails), len(chat_server.posts)) == ((0, 1) if out == "mail" else (1, 0))


def test_after_a_days_outage_of_both_each_message_arrives_once(lab, mail_server, chat_server, time_machine, noon):
    """civicrm/civicrm-core PR#31600."""
    for number in range(3):
        tell(lab, subject=f"Notice {number}")
    for hour in range(24):
        time_machine.move_to(noon + hour * HOUR, tick=False)
        assert outbox.deliver_due() == 0
    time_machine.move_to(noon + 27 * HOUR, tick=False)

    with mail_server.up(), chat_server.up():
        sent, again = outbox.deliver_due(), outbox.deliver_due()

    subjects = ["Notice 0", "Notice 1", "Notice 2"]
    assert (sent, again, waiting()) == (6, 0, [])
    assert [mail["Subject"] for mail in mail_server.mails] == subjects
    assert [post["title"] for post in chat_server.posts] == subjects


def test_a_mail_server_that_is_full_for_a_day_parks_nothing(lab, mail_server, time_machine, noon):
    mail_server.replies = {"RCPT": "452 no room"}
    tell(lab)
    with mail_server.up():
        for half in range(48):
            time_machine.move_to(noon + half * HOUR / 2, tick=False)
            outbox.deliver_due()
        message = OutboxMessage.objects.get()
        assert (message.parked_at, message.attempts > outbox.PARKED_AFTER) == (None, True)
        mail_server.replies = {}
        time_machine.move_to(noon + 27 * HOUR, tick=False)

        assert outbox.deliver_due() == 1

    assert [mail["Subject"] for mail in mail_server.mails] == ["It goes on"]


def test_an_address_that_does_not_exist_is_parked_after_half_a_day(lab, mail_server, time_machine, noon):
    mail_server.replies = {"RCPT": "550 nobody of that name"}
    tell(lab)

    with mail_server.up():
        for half in range(30):
            time_machine.move_to(noon + half * HOUR / 2, tick=False)
            outbox.deliver_due()

    message = OutboxMessage.objects.get()
    assert (message.attempts, message.parked_at is not None) == (outbox.PARKED_AFTER, True)
    assert message.parked_at - noon < timedelta(hours=13)


def test_a_chat_that_refuses_for_days_is_parked_and_says_why(lab, mail_server, chat_server, time_machine, noon):
    chat_server.status = 500
    tell(lab)

    with mail_server.up(), chat_server.up():
        for step in range(60):
            time_machine.move_to(noon + step * 2 * HOUR, tick=False)
            outbox.deliver_due()

    message = OutboxMessage.objects.get(channel="chat")
    assert (message.attempts, message.sent_at) == (outbox.PATIENT, None)
    assert message.parked_at - noon > timedelta(days=3)
    assert "error=500" in message.fault
    assert len(mail_server.mails) == 1


@pytest.mark.parametrize(
    ("chat_url", "why"),
    [("", "the person has no chat address"), ("nonsense://where", "no chat service has such an address")],
)
def test_an_address_that_leads_nowhere_is_parked_at_once(lab, mail_server, chat_server, chat_url, why):
    tell(lab)
    NoticePreference.objects.update(chat_url=chat_url)

    with mail_server.up():
        outbox.deliver_due()

    message = OutboxMessage.objects.get(channel="chat")
    assert (message.attempts, message.parked_at, message.fault) == (1, timezone.now(), why)


def test_a_chat_that_hangs_costs_a_call_a_few_letters_only(lab, mail_server, monkeypatch):
    tries = []
    monkeypatch.setattr(chat, "_to", lambda service: tries.append(service) or Silent())
    for number in range(20):
        lab.lead.pk = None
        lab.lead.username = f"reader-{number}"
        lab.lead.save()
        NoticePreference.objects.create(person=lab.lead, by_mail=False, by_chat=True, chat_url="json://127.0.0.1:9/")
        tell(lab)

    outbox.deliver_due()

    assert (len(tries), OutboxMessage.objects.filter(attempts=0).count()) == (5, 15)


class Silent:
    """Says that nothing arrived."""

    def notify(self, **_letter) -> bool:
        return False


def test_the_address_is_shown_without_its_secrets():
    assert (
        chat.hidden_address("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#gpus")
        == "slack://T...2/A...D/T...Q/%23gpus/"
    )
    assert chat.hidden_address("nonsense://where") == ""
