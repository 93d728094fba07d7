"""Who is told, where and when: once for an event and person, by the channels they chose, not in their quiet hours."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest
from django.db import transaction

from allocations import grants, notify, pitches, splits
from allocations.errors import BadTerms
from allocations.models import Notice, NoticePreference, OutboxMessage
from allocations.notify.quiet import quiet_end
from inventory import trail
from tests import factories
from tests.allocations.acts import approve, draft, submit
from tests.allocations.machines import committed

CHAT = "json://127.0.0.1:9/"


def tell(lab, people, **said):
    with transaction.atomic():
        event = trail.record("project.resumed", lab.project, by=lab.ops)
        notify.tell(event, people, **{"subject": "It goes on", "body": "All of it.", **said})
    return event


def left(person) -> list[str]:
    """The channels by which something waits for the person."""
    return sorted(OutboxMessage.objects.filter(person=person).values_list("channel", flat=True))


@pytest.mark.django_db
class TestTold:
    def test_each_finds_it_in_the_inbox_and_hears_of_it_by_mail(self, lab):
        tell(lab, {lab.lead, lab.chief}, path="/projects/protein-folding/")

        notices = Notice.objects.order_by("person__username")
        assert [(one.person.username, one.subject, one.body, one.path, one.read_at) for one in notices] == [
            ("chief-scientist", "It goes on", "All of it.", "/projects/protein-folding/", None),
            ("lead", "It goes on", "All of it.", "/projects/protein-folding/", None),
        ]
        assert (left(lab.lead), left(lab.chief)) == (["mail"], ["mail"])

    @pytest.mark.parametrize(
        ("by_mail", "by_chat", "chat_url", "channels"),
        [
            (True, True, CHAT, ["chat", "mail"]),
            (False, True, CHAT, ["chat"]),
            (True, True, "", ["mail"]),
            (False, False, CHAT, []),
        ],
    )
    def test_what_leaves_is_what_the_person_chose(self, lab, by_mail, by_chat, chat_url, channels):
        NoticePreference.objects.create(person=lab.lead, by_mail=by_mail, by_chat=by_chat, chat_url=chat_url)

        tell(lab, [lab.lead])

        assert (left(lab.lead), Notice.objects.filter(person=lab.lead).count()) == (channels, 1)

    def test_the_same_event_told_again_changes_nothing(self, lab):
        NoticePreference.objects.create(person=lab.lead, by_chat=True, chat_url=CHAT)
        event = tell(lab, [lab.lead])

        with transaction.atomic():
            notify.tell(event, [lab.lead, lab.chief], "Again", "Once more.")

        assert list(Notice.objects.order_by("pk").values_list("person__username", "subject")) == [
            ("lead", "It goes on"),
            ("chief-scientist", "Again"),
        ]
        assert (left(lab.lead), left(lab.chief)) == (["chat", "mail"], ["mail"])

    def test_who_left_hears_nothing(self, lab):
        lab.lead.is_active = False
        lab.lead.save()

        tell(lab, [lab.lead])

        assert (Notice.objects.count(), OutboxMessage.objects.count()) == (0, 0)

    def test_a_decision_that_falls_through_tells_nobody(self, lab):
        class Falls(Exception):
            pass

        with pytest.raises(Falls), transaction.atomic():
            tell(lab, [lab.lead])
            raise Falls

        assert (Notice.objects.count(), OutboxMessage.objects.count()) == (0, 0)

    @pytest.mark.parametrize("count", [1, 300])
    def test_many_people_cost_as_many_statements_as_one(self, lab, django_assert_num_queries, count):
        people = [factories.person(f"reader-{number}") for number in range(count)]
        event = tell(lab, [])

        with django_assert_num_queries(3):
            notify.tell(event, people, "It goes on", "All of it.")

        assert Notice.objects.count() == count

    def test_nobody_to_tell_costs_nothing(self, lab, django_assert_num_queries):
        event = tell(lab, [])

        with django_assert_num_queries(0):
            notify.tell(event, [], "It goes on", "All of it.")


@pytest.mark.django_db
class TestPages:
    """A notice names the page that it is about, and the person may open it."""

    def test_of_pitches(self, world, client):
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist")
        approve(world, pitch, world.head, "research-head")

        assert _told_pages(client) == {
            ("chief-scientist", f"/queue/{pitch.public_id}/"),
            ("research-head", f"/queue/{pitch.public_id}/"),
            ("pitcher", f"/pitches/{pitch.public_id}/"),
        }

    def test_of_grants_and_splits(self, world, client):
        grant = factories.grant(world.project)
        grants.end_grant(grant=grant, by=world.lead, reason="It is done.")
        splits.propose_split(
            by=world.ceo, starts_at=datetime(2090, 1, 1, tzinfo=UTC), percents={"": {"research": 50, "applied": 40}}
        )

        assert _told_pages(client) == {
            ("lead", f"/grants/{grant.public_id}/"),
            ("ceo", "/split/"),
            ("ceo-applications", "/split/"),
        }

    def test_of_plans(self, lab, ended, client):
        committed(factories.grant(lab.project, gpus=3), lab.ops)

        assert _told_pages(client) == {
            ("applied-lead", "/projects/assistant/"),
            ("lead", "/projects/protein-folding/"),
        }


def _told_pages(client) -> set[tuple[str, str]]:
    """(login, path) of all notices; each opens for the one who was told."""
    found = set()
    for notice in Notice.objects.select_related("person"):
        client.force_login(notice.person)
        assert client.get(notice.path).status_code in (200, 302), notice.path
        found.add((notice.person.username, notice.path))
    return found


NIGHT = time(22), time(7)
BERLIN, OSLO, KOLKATA = ZoneInfo("Europe/Berlin"), ZoneInfo("Europe/Oslo"), ZoneInfo("Asia/Kolkata")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(
    ("now", "hours", "zone", "end"),
    [
        ("2027-01-10T21:59+01:00", NIGHT, BERLIN, None),
        ("2027-01-10T22:00+01:00", NIGHT, BERLIN, "2027-01-11T07:00+01:00"),
        ("2027-01-11T00:30+01:00", NIGHT, BERLIN, "2027-01-11T07:00+01:00"),
        ("2027-01-11T06:59+01:00", NIGHT, BERLIN, "2027-01-11T07:00+01:00"),
        ("2027-01-11T07:00+01:00", NIGHT, BERLIN, None),
        ("2027-01-11T20:00+01:00", NIGHT, KOLKATA, "2027-01-12T07:00+05:30"),
        ("2027-01-11T12:30+01:00", (time(12), time(13)), BERLIN, "2027-01-11T13:00+01:00"),
        ("2027-01-11T13:00+01:00", (time(12), time(13)), BERLIN, None),
        # The night in which the clock goes forward is an hour shorter, the one in which it goes back an hour longer.
        ("2027-03-27T23:00+01:00", NIGHT, OSLO, "2027-03-28T07:00+02:00"),
        ("2027-10-30T23:00+02:00", NIGHT, OSLO, "2027-10-31T07:00+01:00"),
        # 02:30 comes twice on 31 October: quiet until its second time; and never on 28 March: an hour later.
        ("2027-10-31T02:40+02:00", (time(1), time(2, 30)), OSLO, "2027-10-31T02:30+01:00"),
        ("2027-10-31T02:30+01:00", (time(1), time(2, 30)), OSLO, None),
        ("2027-03-28T03:20+02:00", (time(1), time(2, 30)), OSLO, "2027-03-28T03:30+02:00"),
        ("2027-03-28T03:30+02:00", (time(1), time(2, 30)), OSLO, None),
    ],
)
def test_quiet_hours_go_by_the_clock_on_the_wall(now, hours, zone, end):
    """celery/django-celery-beat#194."""
    assert quiet_end(at(now), *hours, zone) == (at(end) if end else None)


@pytest.mark.django_db
class TestQuiet:
    def test_what_is_told_in_quiet_hours_waits_for_their_end_in_the_persons_zone(self, lab, time_machine):
        lab.lead.time_zone = "Asia/Kolkata"
        lab.lead.save()
        NoticePreference.objects.create(person=lab.lead, quiet_from=NIGHT[0], quiet_until=NIGHT[1])
        time_machine.move_to(at("2027-01-11T20:00+01:00"), tick=False)

        tell(lab, [lab.lead, lab.chief])

        assert OutboxMessage.objects.get(person=lab.lead).not_before == at("2027-01-12T07:00+05:30")
        assert OutboxMessage.objects.get(person=lab.chief).not_before == at("2027-01-11T20:00+01:00")
        assert Notice.objects.filter(person=lab.lead).count() == 1

    def test_a_zone_that_nobody_knows_is_the_sites(self, lab, time_machine, settings):
        settings.SITE_TIME_ZONE = "Europe/Berlin"
        lab.lead.time_zone = "Mars/Olympus"
        lab.lead.save()
        NoticePreference.objects.create(person=lab.lead, quiet_from=NIGHT[0], quiet_until=NIGHT[1])
        time_machine.move_to(at("2027-01-11T23:00+01:00"), tick=False)

        tell(lab, [lab.lead])

        assert OutboxMessage.objects.get().not_before == at("2027-01-12T07:00+01:00")


@pytest.mark.django_db
class TestPreferences:
    CHOICE = {"by_mail": False, "by_chat": False, "quiet_from": NIGHT[0], "quiet_until": NIGHT[1]}

    def test_they_are_kept_beside_the_address_that_the_admin_set(self, lab):
        NoticePreference.objects.create(person=lab.lead, chat_url=CHAT)

        notify.set_preferences(by=lab.lead, **{**self.CHOICE, "by_chat": True})

        kept = NoticePreference.objects.get(person=lab.lead)
        assert (kept.by_mail, kept.by_chat, kept.chat_url) == (False, True, CHAT)
        assert (kept.quiet_from, kept.quiet_until) == NIGHT

    @pytest.mark.parametrize(
        "wrong", [{"by_chat": True}, {"quiet_until": None}, {"quiet_from": None}, {"quiet_until": NIGHT[0]}]
    )
    def test_half_a_choice_is_refused_and_nothing_kept(self, lab, wrong):
        with pytest.raises(BadTerms):
            notify.set_preferences(by=lab.lead, **{**self.CHOICE, **wrong})

        assert NoticePreference.objects.count() == 0


@pytest.mark.django_db
class TestRead:
    def test_the_first_time_that_a_notice_was_opened_stays(self, lab, time_machine):
        time_machine.move_to("2027-01-11T12:00+00:00", tick=False)
        tell(lab, [lab.lead])
        notice = Notice.objects.get()
        notify.mark_read(notice=notice, by=lab.lead)
        time_machine.move_to("2027-01-12T12:00+00:00", tick=False)

        notify.mark_read(notice=notice, by=lab.lead)

        notice.refresh_from_db()
        assert notice.read_at == at("2027-01-11T12:00+00:00")

    def test_nobody_reads_for_somebody_else(self, lab):
        tell(lab, [lab.lead])

        notify.mark_read(notice=Notice.objects.get(), by=lab.chief)
        notify.mark_all_read(by=lab.chief, up_to=10**9)

        assert notify.unread_of(lab.lead).count() == 1

    def test_what_came_since_the_person_looked_stays_unread(self, lab):
        tell(lab, [lab.lead])
        seen = tell(lab, [lab.lead])
        tell(lab, [lab.lead])
        newest_seen = Notice.objects.get(event=seen).pk

        read = notify.mark_all_read(by=lab.lead, up_to=newest_seen)

        assert (read, notify.unread_of(lab.lead).count()) == (2, 1)


@pytest.mark.django_db
def test_a_draft_is_nobody_elses_business(lab):
    draft(lab)

    assert Notice.objects.count() == 0


@pytest.mark.django_db
class TestSettled:
    """A notice that asks for a signature is read once it was given, or once nobody can give it any more."""

    @staticmethod
    def _asked(pitch) -> set[str]:
        """Whose notice about the signature is unread."""
        unread = Notice.objects.filter(path=f"/queue/{pitch.public_id}/", read_at=None)
        return set(unread.values_list("person__username", flat=True))

    def test_a_signature_reads_it_for_the_signer_alone(self, world):
        pitch, other = submit(world), submit(world)
        before = self._asked(pitch)

        approve(world, pitch, world.head, "research-head")

        assert world.head.username in before
        assert self._asked(pitch) == before - {world.head.username}
        assert self._asked(other) == before

    @pytest.mark.parametrize("verdict", ["decline", "changes"])
    def test_what_ends_the_signing_reads_it_for_all(self, world, verdict):
        pitch = submit(world)

        pitches.sign_off(
            pitch=pitch, by=world.head, role=world.role("research-head"), verdict=verdict, round=1, reason="Why?"
        )

        assert self._asked(pitch) == set()

    def test_a_grant_and_a_withdrawal_do_so_too(self, world):
        granted, withdrawn = submit(world), submit(world)
        approve(world, granted, world.chief, "chief-scientist")
        approve(world, granted, world.head, "research-head")

        pitches.withdraw_pitch(pitch=withdrawn, by=world.pitcher)

        assert (self._asked(granted), self._asked(withdrawn)) == (set(), set())
