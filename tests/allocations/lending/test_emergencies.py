"""Emergency grants: at once by one decider, ratified by others, or ended by themselves."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from allocations import changes, emergencies, grants, queries
from allocations.errors import BadTerms, NotAllowed, OverCapacity, WrongState
from allocations.models import Grant, GrantChange, Pitch
from inventory.models import Event
from tests import factories
from tests.allocations.acts import submit, told, verbs
from tests.allocations.changes.acts import policy
from tests.races import Window, at_once, kinds

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def fresh(row):
    return type(row).objects.get(pk=row.pk)


def emergency(world, *, by=None, pitch=None, **more):
    pitch = pitch or submit(world, gpus=more.pop("gpus", 32))
    return emergencies.grant_emergency(pitch=pitch, by=by or world.chief, reason="The paper is due on Friday.", **more)


def ratify(grant, by, **more):
    return changes.sign_change(change=grant.changes.get(kind="ratify"), by=by, **more)


@pytest.mark.django_db
@pytest.mark.usefixtures("noon")
class TestGranting:
    def test_one_decider_grants_at_once_and_the_other_role_ratifies(self, world, noon):
        grant = emergency(world)

        assert (grant.is_emergency, grant.ratify_by, grant.gpus) == (True, noon + 72 * HOUR, 32)
        assert Pitch.objects.get().state == "granted"
        change = grant.changes.get()
        assert [role.slug for role in change.roles.all()] == ["research-head"]
        assert told("grant.emergency") == ["lead", "pitcher", "research-head"]
        ratify(grant, world.head)
        assert (fresh(grant).ratified_at, fresh(change).state) == (noon, "approved")

    def test_it_stands_beside_the_split_and_never_above_what_is_healthy(self, world, noon):
        factories.grant(world.project, gpus=60)
        with pytest.raises(OverCapacity):
            emergency(world, pitch=factories.submitted(world.project, world.pitcher, gpus=41))
        pitch = factories.submitted(world.project, world.pitcher, gpus=40)

        emergency(world, pitch=pitch)

        numbers = queries.capacity_of(factories.model(), at=noon)
        own = numbers.divisions["research"]
        assert (own.promised.at(noon), own.emergency.at(noon), own.debt.at(noon)) == (60, 40, 0)
        assert numbers.promised.at(noon) == 100

    @pytest.mark.parametrize("login", ["lead", "pitcher", "ops", "admin", "auditor", "ceo-applications"])
    def test_nobody_else_grants(self, world, login):
        with pytest.raises(NotAllowed):
            emergency(world, by=world.everyone[login])

    def test_nobody_grants_in_own_interest(self, world):
        """teleport#13416: nobody approves what is their own."""
        own = submit(world)
        Pitch.objects.update(pitcher=world.chief)
        with pytest.raises(NotAllowed):
            emergency(world, pitch=fresh(own))
        factories.member(world.project, world.head)
        with pytest.raises(NotAllowed):
            emergency(world, by=world.head, pitch=fresh(own))
        factories.project(division=world.research, lead=world.head)

        assert Grant.objects.count() == 0

    def test_where_one_role_signs_pitches_those_who_sign_the_split_ratify(self, world):
        pitch = factories.submitted(world.applied_project, world.applied_pitcher, roles=("ceo-applications",))

        grant = emergency(world, by=world.ceo_apps, pitch=pitch)

        assert [role.slug for role in grant.changes.get().roles.all()] == ["ceo"]

    def test_its_policy_names_roles_and_working_days(self, world):
        policy(world, "emergency", "ceo", due_working_days=1)

        grant = emergency(world)

        assert [role.slug for role in grant.changes.get().roles.all()] == ["ceo"]
        assert grant.ratify_by == datetime(2027, 3, 2, 12, tzinfo=UTC)

    def test_it_needs_a_reason_and_a_pitch_that_waits(self, world):
        pitch = submit(world)
        with pytest.raises(BadTerms):
            emergencies.grant_emergency(pitch=pitch, by=world.chief, reason=" ")
        emergency(world, pitch=pitch)
        with pytest.raises(WrongState):
            emergency(world, by=world.head, pitch=fresh(pitch))

    def test_a_second_one_for_the_project_is_for_those_who_sign_the_split(self, world):
        emergency(world, gpus=8)
        second = submit(world, gpus=8)
        with pytest.raises(NotAllowed):
            emergency(world, by=world.head, pitch=second)

        grant = emergency(world, by=world.ceo, pitch=second)

        assert [role.slug for role in grant.changes.get().roles.all()] == ["ceo-applications"]


@pytest.mark.django_db
@pytest.mark.usefixtures("noon")
class TestRatification:
    def test_whoever_granted_does_not_ratify(self, world):
        factories.holder("research-head", who=world.chief)
        grant = emergency(world, by=world.ceo)

        with pytest.raises(NotAllowed):
            ratify(grant, world.ceo)
        ratify(grant, world.chief, role=world.role("chief-scientist"))
        assert fresh(grant).ratified_at is None

    def test_declined_it_ends_at_once(self, world, noon, time_machine):
        grant = emergency(world)
        time_machine.move_to(noon + 5 * HOUR, tick=False)

        ratify(grant, world.head, verdict="decline", reason="It can wait.")

        assert (fresh(grant).ends_at, fresh(grant).ended_by) == (noon + 5 * HOUR, world.head)

    def test_not_ratified_it_ends_by_itself_at_its_deadline_once(self, world, noon, time_machine):
        """celery/kombu#337: once, also when workers restart in between."""
        grant = emergency(world)
        time_machine.move_to(noon + 71 * HOUR, tick=False)
        emergencies.tend()
        assert fresh(grant).ends_at == noon + 14 * DAY
        time_machine.move_to(noon + 80 * HOUR, tick=False)  # nobody ticked for hours
        emergencies.tend()
        emergencies.tend()

        assert fresh(grant).ends_at == grant.ratify_by
        assert (verbs(grant), told("emergency.lapsed")) == (
            ["grant.emergency", "emergency.lapsed"], ["chief-scientist", "lead", "pitcher"],
        )  # fmt: skip
        with pytest.raises(WrongState):
            ratify(grant, world.head)
        submit(world, gpus=60)

    def test_ratified_it_goes_on(self, world, noon, time_machine):
        grant = emergency(world)
        ratify(grant, world.head)
        time_machine.move_to(noon + 80 * HOUR, tick=False)
        emergencies.tend()

        assert fresh(grant).ends_at == noon + 14 * DAY

    def test_ended_early_by_the_lead_it_stays_so(self, world, noon, time_machine):
        grant = emergency(world)
        grants.end_grant(grant=grant, by=world.lead, reason="Not needed.")
        time_machine.move_to(noon + 80 * HOUR, tick=False)
        emergencies.tend()

        assert fresh(grant).ends_at == noon


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_two_deciders_grant_one_pitch_once(self, world, monkeypatch):
        pitch = submit(world)
        rows = [fresh(pitch), fresh(pitch)]
        monkeypatch.setattr(emergencies, "_ratification", Window().after(emergencies._ratification))

        outcomes = at_once(
            lambda: emergency(world, by=world.chief, pitch=rows[0]),
            lambda: emergency(world, by=world.head, pitch=rows[1]),
        )

        assert Grant.objects.count() == 1
        assert sum(isinstance(each, Grant) for each in outcomes) == 1
        assert GrantChange.objects.count() == 1

    def test_of_two_first_ones_for_a_project_the_later_is_the_second(self, world, monkeypatch):
        asks = submit(world, gpus=8), submit(world, gpus=8)
        monkeypatch.setattr(emergencies, "_ratification", Window().after(emergencies._ratification))

        outcomes = at_once(
            lambda: emergency(world, by=world.chief, pitch=fresh(asks[0])),
            lambda: emergency(world, by=world.head, pitch=fresh(asks[1])),
        )

        assert (kinds(outcomes), Grant.objects.count()) == (["Grant", "NotAllowed"], 1)

    def test_two_clocks_at_once_end_it_once(self, world, monkeypatch):
        """celery/kombu#337: what is due happens once, also when two workers come to it at once."""
        grant = emergency(world)
        Grant.objects.update(ratify_by=timezone.now() - HOUR, starts_at=timezone.now() - DAY)
        window = Window()
        monkeypatch.setattr(Grant, "save", window.before(Grant.save))

        outcomes = at_once(emergencies.tend, emergencies.tend)

        assert (outcomes, window.met) == ([None, None], False)
        assert Event.objects.filter(verb="emergency.lapsed").count() == 1
        assert fresh(grant).ends_at == fresh(grant).ratify_by
