"""Ways around a signature that somebody could try: each of them is closed."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import changes, emergencies, exceptions, grants, loans, pitches, projects, queries
from allocations.errors import NotAllowed, OverCapacity, WrongState
from allocations.models import Grant, Pitch
from tests import factories
from tests.allocations.acts import approve, submit, verbs
from tests.allocations.changes.acts import ask, both_sign, policy
from tests.races import Window, at_once, kinds

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def fresh(row):
    return type(row).objects.get(pk=row.pk)


def lend(world, *, gpus, days, after=0):
    now = timezone.now() + after * DAY
    return loans.propose_loan(
        lender=world.project, borrower=world.applied_project, model=factories.model(), gpus=gpus, starts_at=now,
        ends_at=now + days * DAY, by=world.applied_lead, reason="Your run starts later.",
    )  # fmt: skip


def end_on(world, grant, at):
    change = changes.ask_change(grant=grant, by=world.chief, takes_effect_at=at, reason="The others wait.")
    both_sign(world, change)


@pytest.mark.django_db
@pytest.mark.usefixtures("noon")
class TestAnOwnPitchInOtherHands:
    """teleport#13416: who pitched it decides it in no way, whoever answers for it now."""

    @pytest.fixture
    def handed_over(self, world):
        factories.holder("chief-scientist", "chief-too")
        factories.member(world.project, world.chief)
        pitch = submit(world, by=world.chief)
        return pitches.hand_over_pitch(pitch=pitch, to=world.pitcher, by=world.chief)

    def test_the_first_pitcher_signs_it_neither_alone_nor_for_somebody(self, world, handed_over):
        with pytest.raises(NotAllowed):
            approve(world, handed_over, world.chief, "chief-scientist")

        assert queries.mandates_for(fresh(handed_over), world.chief) == []
        assert handed_over not in queries.queue_of(world.chief)
        assert world.chief not in queries.signers_of(fresh(handed_over), list(handed_over.roles.all()))

    def test_nor_grants_it_as_an_emergency(self, world, handed_over):
        projects.end_membership(project=world.project, person=world.chief, by=world.lead)

        with pytest.raises(NotAllowed):
            emergencies.grant_emergency(pitch=fresh(handed_over), by=world.chief, reason="It is due on Friday.")

    def test_nor_signs_for_a_longer_time(self, world, handed_over):
        Pitch.objects.update(state="granted", decided_at=timezone.now(), decided_by=world.head)
        grant = factories.grant(world.project, pitch=fresh(handed_over))
        change = ask(world, grant)

        with pytest.raises(NotAllowed):
            changes.sign_change(change=change, by=world.chief)
        assert change not in queries.changes_waiting_for(world.chief)


@pytest.mark.django_db
@pytest.mark.usefixtures("noon")
class TestEmergencies:
    def test_an_end_on_a_later_day_does_not_stand_for_the_ratification(self, world, noon, time_machine):
        grant = emergencies.grant_emergency(pitch=submit(world, gpus=8), by=world.chief, reason="Due on Friday.")
        end_on(world, grant, noon + 10 * DAY)
        time_machine.move_to(noon + 73 * HOUR, tick=False)

        emergencies.tend()

        assert fresh(grant).ends_at == noon + 72 * HOUR
        assert "emergency.lapsed" in verbs(grant)

    @pytest.mark.parametrize("days", [2, 14])
    def test_one_that_has_ended_waits_for_no_ratification(self, world, noon, time_machine, days):
        pitch = submit(world, gpus=8, days=days)
        grant = emergencies.grant_emergency(pitch=pitch, by=world.chief, reason="Due on Friday.")
        if days == 14:
            grants.end_grant(grant=grant, by=world.lead, reason="It is done.")
        time_machine.move_to(noon + 71 * HOUR, tick=False)

        emergencies.tend()

        assert grant.changes.get().state == "withdrawn"
        assert verbs(grant.changes.get()) == ["change.withdrawn"]
        assert not queries.changes_waiting_for(world.head).exists()

    def test_one_that_is_to_end_on_a_later_day_can_still_be_ratified(self, world, noon):
        grant = emergencies.grant_emergency(pitch=submit(world, gpus=8), by=world.chief, reason="Due on Friday.")
        end_on(world, grant, noon + 10 * DAY)

        changes.sign_change(change=grant.changes.get(kind="ratify"), by=world.head)

        assert (fresh(grant).ratified_at, fresh(grant).ends_at) == (noon, noon + 10 * DAY)

    def test_its_extension_is_a_renewal_and_those_who_sign_the_split_sign_it(self, world):
        policy(world, "extension", "research-head")
        grant = emergencies.grant_emergency(pitch=submit(world, gpus=8), by=world.chief, reason="Due on Friday.")

        assert [role.slug for role in ask(world, grant).roles.all()] == ["ceo-applications", "ceo"]


@pytest.mark.django_db
def test_what_a_smaller_grant_gives_up_later_is_not_lent(world, noon):
    grant = factories.grant(world.project, gpus=16, starts_at=noon, ends_at=noon + 14 * DAY)
    change = changes.ask_change(
        grant=grant, by=world.chief, gpus=8, takes_effect_at=noon + 5 * DAY, reason="The others wait."
    )
    both_sign(world, change)

    with pytest.raises(OverCapacity):
        lend(world, gpus=9, days=6)
    assert lend(world, gpus=9, days=5).state == "proposed"


@pytest.mark.django_db
def test_an_emergency_is_not_lent_before_it_is_ratified(world, noon):
    grant = emergencies.grant_emergency(pitch=submit(world, gpus=8), by=world.chief, reason="Due on Friday.")
    with pytest.raises(OverCapacity):
        lend(world, gpus=8, days=4)

    changes.sign_change(change=grant.changes.get(), by=world.head)

    assert lend(world, gpus=8, days=4).state == "proposed"


@pytest.mark.django_db
def test_a_project_that_ends_keeps_no_grant_whose_early_end_is_yet_to_come(world, noon):
    grant = factories.grant(world.project, gpus=16, starts_at=noon, ends_at=noon + 14 * DAY)
    end_on(world, grant, noon + 10 * DAY)

    projects.end_project(project=world.project, by=world.lead, reason="It is done.")

    assert fresh(grant).ends_at == noon


@pytest.mark.django_db(transaction=True)
def test_of_two_first_emergencies_at_once_one_is_the_second(world, monkeypatch):
    rows = [submit(world, gpus=8), submit(world, gpus=8)]
    window = Window()
    monkeypatch.setattr(emergencies, "lock_shares", window.before(emergencies.lock_shares))

    def press(pitch, by):
        return emergencies.grant_emergency(pitch=Pitch.objects.get(pk=pitch.pk), by=by, reason="Due on Friday.")

    results = at_once(lambda: press(rows[0], world.chief), lambda: press(rows[1], world.head))

    assert kinds(results) == ["Grant", "NotAllowed"]
    assert Grant.objects.filter(is_emergency=True).count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("first", [0, 1])
def test_of_two_loans_proposed_side_by_side_one_is_the_renewal(world, noon, first):
    factories.grant(world.project, gpus=16, starts_at=noon, ends_at=noon + 60 * DAY)
    pair = [lend(world, gpus=8, days=10, after=after) for after in (0, 10)]
    loans.answer_loan(loan=pair[first], by=world.lead, agrees=True)

    with pytest.raises(WrongState):
        loans.answer_loan(loan=pair[1 - first], by=world.lead, agrees=True)


@pytest.mark.django_db
@pytest.mark.usefixtures("noon")
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("after", [1, 10])
def test_of_two_exceptions_proposed_side_by_side_one_is_the_renewal(world, noon, first, after):
    policy(world, "exception", "chief-scientist")
    starts = (noon + DAY, noon + after * DAY)
    pair = [
        exceptions.propose_exception(
            division=world.research, model=factories.model(), gpus=4, starts_at=start, ends_at=start + 10 * DAY,
            by=world.chief, reason="The run is due.",
        )
        for start in starts
    ]  # fmt: skip
    exceptions.sign_exception(exception=pair[first], by=world.chief)

    with pytest.raises(WrongState):
        exceptions.sign_exception(exception=pair[1 - first], by=world.chief)
