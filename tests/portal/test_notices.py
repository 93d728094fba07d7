"""The inbox: newest first, opened by POST only, each person's own; and how somebody wants to be told."""

import re

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from allocations import notify
from allocations.models import Grant, Notice, NoticePreference, OutboxMessage, Pitch
from inventory import trail
from inventory.models import Event
from portal import pages
from tests import factories
from tests.allocations.acts import draft, submit

CHAT = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/"


@transaction.atomic
def told(lab, person, count=1, path="/projects/protein-folding/") -> list[Notice]:
    """So many notices to the person, oldest first."""
    for number in range(count):
        event = trail.record("project.resumed", lab.project, by=lab.ops)
        notify.tell(event, [person], f"Notice <{number}>", "All of it.", path)
    return list(Notice.objects.filter(person=person).order_by("pk"))


def subjects(page: str) -> list[str]:
    return re.findall(r'<button class="notice-open">(.*?)</button>', page)


def badge(page: str) -> str:
    """The number in the frame, "" where there is none."""
    link = page[page.index('id="inbox-badge"') :]
    return "".join(re.findall(r'badge-count">([^<]*)<', link[: link.index("</a>")]))


@pytest.fixture
def reader(client, lab):
    """The browser of the lead."""
    client.force_login(lab.lead)
    return client


class TestInbox:
    def test_the_newest_is_first_and_what_is_unread_says_so(self, reader, lab):
        notify.mark_read(notice=told(lab, lab.lead, 3)[1], by=lab.lead)

        page = reader.get("/inbox/").content.decode()

        unread = '<span class="visually-hidden">Unread: </span>'
        assert subjects(page) == [f"{unread}Notice &lt;2&gt;", "Notice &lt;1&gt;", f"{unread}Notice &lt;0&gt;"]
        assert badge(page) == "2"

    def test_only_what_is_unread_on_request(self, reader, lab):
        notify.mark_read(notice=told(lab, lab.lead, 3)[1], by=lab.lead)

        assert len(subjects(reader.get("/inbox/?unread=1").content.decode())) == 2

    def test_nothing_yet_says_what_will_come(self, reader):
        page = reader.get("/inbox/").content.decode()

        assert ("Nothing here yet" in page, badge(page), "Mark all as read" in page) == (True, "", False)

    def test_pages_go_by_key(self, reader, lab):
        told(lab, lab.lead, pages.PAGE_ROWS + 2)
        first = reader.get("/inbox/")
        told(lab, lab.lead)  # comes while the person reads

        older = reader.get("/inbox/", {"before": first.context["page"].before})

        shown = [notice.subject for answer in (first, older) for notice in answer.context["page"]]
        assert shown == [f"Notice <{number}>" for number in reversed(range(pages.PAGE_ROWS + 2))]

    def test_it_costs_the_same_with_one_row_and_with_three(self, reader, lab):
        told(lab, lab.lead)
        reader.get("/inbox/")
        with CaptureQueriesContext(connection) as with_one:
            reader.get("/inbox/")
        told(lab, lab.lead, 2)

        with CaptureQueriesContext(connection) as with_three:
            reader.get("/inbox/")

        tables = [query["sql"].count('FROM "allocations_notice"') for query in with_three]
        assert (len(with_three), sum(tables)) == (len(with_one), 2)  # the list, and the badge

    def test_the_part_that_lives_is_the_pages_own_and_brings_the_badge(self, reader, lab):
        told(lab, lab.lead)

        part = reader.get("/inbox/", headers={"HX-Request": "true", "HX-Target": "inbox"}).content.decode()

        assert ("<html" in part, len(subjects(part)), badge(part)) == (False, 1, "1")
        assert 'id="inbox-badge" class="icon-btn" href="/inbox/" hx-swap-oob="true"' in part

    def test_more_than_a_badge_holds(self, reader, lab):
        told(lab, lab.lead, 101)

        assert badge(reader.get("/projects/").content.decode()) == "99+"


class TestOpening:
    def test_it_marks_the_notice_read_and_opens_its_page(self, reader, lab):
        [notice] = told(lab, lab.lead)

        answer = reader.post(reverse("notice_open", args=[notice.pk]))

        notice.refresh_from_db()
        assert (answer.status_code, answer.headers["Location"]) == (302, "/projects/protein-folding/")
        assert notice.read_at is not None

    def test_one_without_a_page_is_read_in_the_inbox(self, reader, lab):
        [notice] = told(lab, lab.lead, path="")

        answer = reader.post(reverse("notice_open", args=[notice.pk]))

        assert answer.headers["Location"] == "/inbox/"

    @pytest.mark.parametrize("path", ["https://elsewhere.example/", "//elsewhere.example/", "javascript:alert(1)"])
    def test_it_leads_nowhere_else(self, reader, lab, path):
        [notice] = told(lab, lab.lead, path=path)

        answer = reader.post(reverse("notice_open", args=[notice.pk]))

        assert answer.headers["Location"] == "/inbox/"

    def test_looking_alone_reads_nothing(self, reader, lab):
        [notice] = told(lab, lab.lead)

        answers = [
            reader.get(reverse("notice_open", args=[notice.pk])),
            reader.get("/inbox/read/"),
            reader.get("/inbox/"),
        ]

        assert [answer.status_code for answer in answers] == [405, 405, 200]
        assert notify.unread_of(lab.lead).count() == 1

    def test_somebody_elses_is_not_there(self, client, lab):
        [notice] = told(lab, lab.lead)
        client.force_login(lab.admin)

        answer = client.post(reverse("notice_open", args=[notice.pk]))

        assert (answer.status_code, "Notice" in client.get("/inbox/").content.decode()) == (404, False)
        assert notify.unread_of(lab.lead).count() == 1

    @pytest.mark.parametrize("address", ["/inbox/", "/inbox/preferences/"])
    def test_nobody_who_is_not_logged_in_reads(self, client, lab, address):
        answer = client.get(address)

        assert (answer.status_code, answer.headers["Location"]) == (302, f"/login/?next={address}")


class TestAllRead:
    def test_what_was_shown_is_read_and_what_came_since_is_not(self, reader, lab):
        newest_shown = told(lab, lab.lead, 3)[-1].pk
        told(lab, lab.lead)
        told(lab, lab.chief)

        answer = reader.post("/inbox/read/", {"up_to": newest_shown}, follow=True)

        assert badge(answer.content.decode()) == "1"
        assert "3 notices marked as read." in answer.content.decode()
        assert notify.unread_of(lab.chief).count() == 1

    @pytest.mark.parametrize("up_to", ["", "all", "-1", str(2**70)])
    def test_nonsense_reads_nothing(self, reader, lab, up_to):
        told(lab, lab.lead)

        answer = reader.post("/inbox/read/", {"up_to": up_to})

        assert (answer.status_code, notify.unread_of(lab.lead).count()) == (302, 1)


class TestPreferences:
    NIGHT = {"by_mail": "on", "quiet_from": "22:00", "quiet_until": "07:00"}

    def test_they_are_kept_and_shown(self, reader, lab):
        NoticePreference.objects.create(person=lab.lead, chat_url=CHAT)

        saved = reader.post("/inbox/preferences/", {**self.NIGHT, "by_chat": "on"})
        page = reader.get("/inbox/preferences/").content.decode()

        kept = NoticePreference.objects.get(person=lab.lead)
        assert saved.status_code == 302
        assert (kept.by_mail, kept.by_chat, kept.chat_url) == (True, True, CHAT)
        assert re.findall(r'type="time" name="(\w+)" value="([\d:]+)"', page) == [
            ("quiet_from", "22:00"),
            ("quiet_until", "07:00"),
        ]

    def test_without_a_row_mail_is_on_and_chat_waits_for_an_admin(self, reader):
        page = reader.get("/inbox/preferences/")

        assert (page.context["form"].initial["by_mail"], page.context["form"].fields["by_chat"].disabled) == (
            True,
            True,
        )
        assert "an administrator sets it" in page.content.decode()

    def test_the_chat_address_is_shown_without_its_secrets_and_cannot_be_typed(self, reader, lab):
        NoticePreference.objects.create(person=lab.lead, chat_url=CHAT)

        reader.post("/inbox/preferences/", {**self.NIGHT, "chat_url": "json://inside.lab/"})
        page = reader.get("/inbox/preferences/").content.decode()

        assert NoticePreference.objects.get().chat_url == CHAT
        assert ("slack://T...2/A...D/T...Q/" in page, "TIiajkdnlazkcOXrIdevi7FQ" in page) == (True, False)

    @pytest.mark.parametrize(
        ("wrong", "why"),
        [
            ({"quiet_until": ""}, "Quiet hours have a beginning and an end."),
            ({"quiet_until": "22:00"}, "Quiet hours end at another time than they begin."),
            ({"quiet_until": "25:00"}, "Enter a valid time."),
        ],
    )
    def test_half_a_choice_comes_back_with_what_was_typed(self, reader, lab, wrong, why):
        answer = reader.post("/inbox/preferences/", {**self.NIGHT, **wrong})

        page = answer.content.decode()
        assert (answer.status_code, why in page, 'name="quiet_from" value="22:00"' in page) == (422, True, True)
        assert NoticePreference.objects.count() == 0

    def test_a_disabled_choice_cannot_be_forced(self, reader, lab):
        reader.post("/inbox/preferences/", {**self.NIGHT, "by_chat": "on"})

        assert NoticePreference.objects.get(person=lab.lead).by_chat is False


class TestChatAddress:
    """An admin alone sets it, in the administration, and the trail keeps no secret."""

    @pytest.fixture
    def desk(self, lab, client):
        lab.admin.is_staff = True
        lab.admin.save()
        client.force_login(lab.admin)
        return client

    def test_it_is_set_and_the_trail_says_only_that(self, desk, lab):
        desk.post("/admin/allocations/noticepreference/add/", {"person": lab.lead.pk, "chat_url": CHAT})

        event = Event.objects.get(verb="noticepreference.added")
        assert NoticePreference.objects.get(person=lab.lead).chat_url == CHAT
        assert event.facts["changed"]["chat_url"] == "changed"
        assert "TIiajkdnlazkcOXrIdevi7FQ" not in str(event.facts)

    def test_one_that_no_service_has_is_refused(self, desk, lab):
        typed = {"person": lab.lead.pk, "chat_url": "nonsense://where"}

        page = desk.post("/admin/allocations/noticepreference/add/", typed)

        assert "No chat service has such an address." in page.content.decode()
        assert NoticePreference.objects.count() == 0


@pytest.mark.parametrize("login", ["chief-scientist", "research-head"])
def test_a_link_in_a_mail_opens_a_page_and_answers_nothing(client, lab, login):
    factories.split()
    factories.fleet(gpus=64)
    submit(lab)
    path = Notice.objects.get(person__username=login).path

    stranger = client.get(path)
    client.force_login(lab.everyone[login])
    page = client.get(path)

    assert (stranger.status_code, page.status_code) == (302, 200)
    assert (Pitch.objects.get().state, Grant.objects.count()) == ("submitted", 0)
    assert OutboxMessage.objects.filter(sent_at=None).count() == 2


def test_the_badge_is_the_viewers_own(client, lab):
    told(lab, lab.lead, 2)
    draft(lab)
    client.force_login(lab.pitcher)

    page = client.get("/pitches/").content.decode()

    assert (badge(page), timezone.is_aware(Notice.objects.first().at)) == ("", True)
