"""Reminders and escalation: to whom, when, once each; overdue never decides. Noon of 1 March 2027 is a Monday."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from allocations import changes, pitches, queries, reminders, tasks
from allocations.errors import Stale
from allocations.models import (
    Deputy,
    Grant,
    GrantChange,
    Notice,
    OutboxMessage,
    Pitch,
    PitchRole,
    Policy,
    PolicyRole,
    Role,
)
from allocations.reminders import pitches as of_pitches
from inventory.models import Event
from tests import factories
from tests.allocations import acts
from tests.allocations.acts import told
from tests.races import Window, at_once

pytestmark = pytest.mark.django_db

THURSDAY_NOON = datetime(2027, 3, 4, 12, tzinfo=UTC)  # three working days later
SECOND = timedelta(seconds=1)


@pytest.fixture
def go(time_machine):
    """It is that instant and the clock has ticked there."""

    def moved(at: datetime) -> int:
        time_machine.move_to(at, tick=False)
        return reminders.remind()

    return moved


class TestSignatures:
    def test_a_working_day_before_and_at_the_time_the_signers_hear_once_each(self, world, noon, go):
        acts.submit(world)
        before = THURSDAY_NOON - timedelta(days=1)

        found = [(go(at), len(told("pitch.reminded"))) for at in (noon, before - SECOND, before, before + SECOND)]
        at_due = [(go(at), len(told("pitch.reminded"))) for at in (THURSDAY_NOON, THURSDAY_NOON + timedelta(days=3))]

        assert found == [(0, 0), (0, 0), (1, 2), (0, 2)]
        assert at_due == [(1, 4), (0, 4)]
        subjects = Notice.objects.filter(event__verb="pitch.reminded").order_by("pk").values_list("subject", flat=True)
        assert list(subjects[::2]) == ["Due soon: Fold larger proteins", "Overdue: Fold larger proteins"]

    def test_no_worker_ran_the_day_before_one_reminder_says_that_it_is_overdue(self, world, noon, go):
        acts.submit(world)

        go(THURSDAY_NOON + timedelta(hours=5))

        assert told("pitch.reminded") == ["chief-scientist", "research-head"]

    def test_who_has_signed_is_left_alone(self, world, noon, go):
        pitch = acts.submit(world)
        acts.approve(world, pitch, world.chief, "chief-scientist")

        go(THURSDAY_NOON)

        assert told("pitch.reminded") == ["research-head"]

    def test_a_deputy_hears_as_the_principal_does(self, world, noon, go):
        Deputy.objects.create(
            principal=world.chief, deputy=world.stranger, role=world.role("chief-scientist"), set_by=world.chief,
            during=(noon, None),
        )  # fmt: skip
        acts.submit(world)

        go(THURSDAY_NOON - timedelta(days=1))

        assert told("pitch.reminded") == ["chief-scientist", "research-head", "stranger"]

    def test_overdue_the_role_above_hears_once_and_sees_the_pitch_and_nothing_is_decided(self, world, noon, go):
        """Waldur's documented behaviour: overdue escalates, it never approves or rejects by itself."""
        pitch = acts.submit(world)

        go(THURSDAY_NOON - SECOND)
        early = told("pitch.escalated")
        for day in range(3):
            go(THURSDAY_NOON + timedelta(days=day))

        pitch.refresh_from_db()
        assert (early, told("pitch.escalated")) == ([], ["ceo"])
        assert (pitch.state, Grant.objects.count(), pitch.sign_offs.count()) == ("submitted", 0, 0)
        body = Notice.objects.filter(event__verb="pitch.escalated").first().body
        assert "Due at the Chief scientist and Research head: 4 March, 12:00. Nothing is decided." in body

    def test_a_role_above_in_another_division_may_read_what_it_was_told_of(self, world, noon, go):
        Policy.objects.update(escalates_to=Role.objects.get(slug="ceo-applications"))
        pitch = acts.submit(world)
        before = queries.pitches_visible_to(world.ceo_apps).filter(pk=pitch.pk).exists()

        go(THURSDAY_NOON)

        assert (before, queries.pitches_visible_to(world.ceo_apps).filter(pk=pitch.pk).exists()) == (False, True)

    def test_a_role_above_without_anybody_is_told_once_it_has_somebody(self, world, noon, go):
        world.ceo.roles.update(during=(factories.LONG_AGO, noon))
        acts.submit(world)
        go(THURSDAY_NOON)
        assert PitchRole.objects.filter(escalated_at=None).count() == 2

        factories.holder("ceo", "new-ceo")
        go(THURSDAY_NOON + SECOND)

        assert set(told("pitch.escalated")) == {"new-ceo"}

    def test_in_an_order_only_those_whose_turn_it_is_hear(self, world, noon, go):
        PolicyRole.objects.filter(role__slug="research-head").update(position=1)
        pitch = acts.submit(world)  # the head's time begins when the chief's is over

        go(THURSDAY_NOON)
        first = told("pitch.reminded")
        acts.approve(world, pitch, world.chief, "chief-scientist")
        go(pitch.needed_roles.get(role__slug="research-head").due_at)

        assert (first, told("pitch.reminded")) == (["chief-scientist"], ["chief-scientist", "research-head"])

    @pytest.mark.parametrize("state", ["granted", "declined", "withdrawn", "waitlisted", "draft"])
    def test_what_waits_for_nobody_reminds_nobody(self, world, noon, go, state):
        pitch = acts.submit(world)
        decided = {"decided_at": noon, "decided_by": world.chief} if state in ("granted", "declined") else {}
        Pitch.objects.filter(pk=pitch.pk).update(state=state, waitlist_rank=1, **decided)

        assert (go(THURSDAY_NOON), told("pitch.reminded")) == (0, [])

    def test_a_policy_without_days_reminds_nobody(self, world, noon, go):
        Policy.objects.update(due_working_days=None)
        acts.submit(world)

        assert go(THURSDAY_NOON + timedelta(days=60)) == 0

    def test_one_that_cannot_be_had_does_not_stop_the_others(self, world, noon, go, monkeypatch):
        stuck, other = acts.submit(world), acts.submit(world)
        lock = of_pitches.lock_row

        def locked(row):
            if row.pk == stuck.pk:
                raise Stale("locked")
            lock(row)

        monkeypatch.setattr(of_pitches, "lock_row", locked)

        assert go(THURSDAY_NOON) == 1
        assert set(Event.objects.filter(verb="pitch.reminded").values_list("subject_id", flat=True)) == {str(other.pk)}


class Killed(BaseException):
    """The worker dies here."""


def test_a_reminder_in_seven_days_comes_once_also_when_workers_restart_in_between(world, noon, go, monkeypatch):
    """celery/kombu#337: nothing waits in the broker; a worker that dies on the way leaves neither stamp nor notice."""
    Policy.objects.update(due_working_days=8, escalates_to=None)
    acts.submit(world)
    due = noon + timedelta(days=9)  # its reminder is due in seven working days
    tell = of_pitches.tell

    def dies(*args, **kwargs):
        tell(*args, **kwargs)
        raise Killed

    monkeypatch.setattr(of_pitches, "tell", dies)
    with pytest.raises(Killed):
        go(due)
    after_the_crash = (told("pitch.reminded"), PitchRole.objects.exclude(reminded_at=None).count())
    monkeypatch.setattr(of_pitches, "tell", tell)
    for _restart in range(3):
        tasks.remind()

    assert after_the_crash == ([], 0)
    assert told("pitch.reminded") == ["chief-scientist", "research-head"]


@pytest.mark.parametrize("sunday", [datetime(2027, 3, 28), datetime(2027, 10, 31)])
def test_nine_in_the_morning_comes_once_a_day_over_a_clock_change(world, go, time_machine, settings, sunday):
    """celery/django-celery-beat#194: once at 09:00 on the wall the day before, of and after the change."""
    settings.SITE_TIME_ZONE = "Europe/Berlin"
    berlin = ZoneInfo("Europe/Berlin")
    policy = Policy.objects.filter(division=world.research).get()
    Policy.objects.filter(pk=policy.pk).update(due_working_days=1, escalates_to=None)
    fired = []
    for day in (-3, 1):  # Thursday and Monday: due on Friday before the change and on Tuesday after it
        at_nine = (sunday + timedelta(days=day, hours=9)).replace(tzinfo=berlin).astimezone(UTC)
        time_machine.move_to(at_nine, tick=False)
        acts.submit(world, start_on=at_nine.date())
    start = (sunday - timedelta(days=2)).replace(tzinfo=berlin).astimezone(UTC)
    seen = Event.objects.filter(verb="pitch.reminded", facts__overdue=True).count()
    for quarter in range(6 * 24 * 4):
        at = start + timedelta(minutes=15 * quarter)
        go(at)
        now = Event.objects.filter(verb="pitch.reminded", facts__overdue=True).count()
        fired += [at.astimezone(berlin).replace(tzinfo=None)] * (now - seen)
        seen = now

    assert fired == [sunday - timedelta(days=2) + timedelta(hours=9), sunday + timedelta(days=2, hours=9)]


class TestAnswers:
    @pytest.fixture
    def offered(self, world, noon):
        pitch = acts.submit(world)
        stamps = {"state": "offered", "offered_at": noon, "answer_due_at": THURSDAY_NOON}
        Pitch.objects.filter(pk=pitch.pk).update(**stamps)
        return pitch

    def test_the_pitcher_is_reminded_and_the_lead_hears_when_it_is_overdue(self, offered, go):
        before = (go(THURSDAY_NOON - timedelta(days=1)), told("pitch.answer_reminded"))
        overdue = [(go(THURSDAY_NOON + n * SECOND), told("pitch.answer_reminded")) for n in range(2)]

        assert before == (1, ["pitcher"])
        assert overdue == [(1, ["lead", "pitcher", "pitcher"]), (0, ["lead", "pitcher", "pitcher"])]
        assert Pitch.objects.get().state == "offered"

    def test_changes_that_are_asked_for_are_reminded_of_in_their_own_words(self, offered, go):
        Pitch.objects.update(state="changes")

        go(THURSDAY_NOON)

        assert "Changes were asked for" in OutboxMessage.objects.filter(person__username="pitcher").last().body

    def test_an_answer_that_was_given_is_not_asked_for(self, offered, go):
        Pitch.objects.update(state="submitted")

        go(THURSDAY_NOON)

        assert told("pitch.answer_reminded") == []


class TestChangesOfGrants:
    @pytest.fixture
    def extension(self, world, noon):
        row = Policy.objects.create(
            subject="extension", due_working_days=3, escalates_to=Role.objects.get(slug="ceo"),
            during=(factories.LONG_AGO, None),
        )  # fmt: skip
        PolicyRole.objects.create(policy=row, role=Role.objects.get(slug="research-head"))
        grant = factories.grant(world.project, starts_at=noon)
        return changes.ask_extension(grant=grant, by=world.lead, days=7, reason="Two runs are left.")

    def test_its_signers_hear_twice_and_the_role_above_once(self, extension, go):
        assert extension.due_at == THURSDAY_NOON

        counted = [
            (go(at), len(told("change.reminded")), told("change.escalated"))
            for at in (THURSDAY_NOON - timedelta(days=1), THURSDAY_NOON, THURSDAY_NOON + SECOND)
        ]

        assert counted == [(1, 1, []), (1, 2, ["ceo"]), (0, 2, ["ceo"])]
        assert set(told("change.reminded")) == {"research-head"}
        assert GrantChange.objects.get().state == "asked"

    def test_a_decided_one_reminds_nobody(self, extension, go, world):
        changes.withdraw_change(change=extension, by=world.lead)

        assert go(THURSDAY_NOON) == 0


@pytest.mark.django_db(transaction=True)
def test_two_ticks_at_once_tell_once(world, noon, time_machine, monkeypatch):
    acts.submit(world)
    time_machine.move_to(THURSDAY_NOON, tick=False)
    window = Window()
    monkeypatch.setattr(queries, "unsigned_roles", window.after(queries.unsigned_roles))

    outcomes = at_once(reminders.remind, reminders.remind)

    assert (sorted(outcomes), window.met) == ([0, 1], False)
    assert told("pitch.reminded") == ["chief-scientist", "research-head"]
    assert told("pitch.escalated") == ["ceo"]


@pytest.mark.django_db(transaction=True)
def test_a_signature_given_meanwhile_is_not_reminded_of(world, noon, time_machine, monkeypatch):
    pitch = acts.submit(world)
    acts.approve(world, pitch, world.chief, "chief-scientist")
    time_machine.move_to(THURSDAY_NOON, tick=False)
    head = Pitch.objects.get(pk=pitch.pk)
    listed = of_pitches.candidates

    def decided_after_the_list(now):
        rows = list(listed(now).values_list("pk", flat=True))
        pitches.sign_off(pitch=head, by=world.head, role=world.role("research-head"), verdict="approve", round=1)
        return Pitch.objects.filter(pk__in=rows)

    monkeypatch.setattr(of_pitches, "candidates", decided_after_the_list)

    assert (reminders.remind(), told("pitch.reminded"), timezone.now()) == (0, [], THURSDAY_NOON)
