"""Extensions: an object of their own; days count from the grant's end, and what waits at the end is defined."""

from datetime import UTC, datetime, timedelta

import pytest

from allocations import changes, grants, queries
from allocations.errors import BadTerms, NobodyToSign, NotAllowed, OverShare, Stale, WrongState
from allocations.models import ChangeSignOff, Deputy, Grant, GrantChange, Policy, RoleHolder
from inventory.models import Event
from tests import factories
from tests.allocations.acts import told, verbs
from tests.allocations.changes.acts import ask, both_sign, decline, policy, sign

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

DAY = timedelta(days=1)


def fresh(row):
    return type(row).objects.get(pk=row.pk)


class TestAsking:
    def test_it_waits_for_those_who_would_sign_a_pitch_of_that_size_and_they_are_told(self, world, grant):
        change = ask(world, grant)

        assert sorted(role.slug for role in change.roles.all()) == ["chief-scientist", "research-head"]
        assert (change.state, change.days, fresh(grant).ends_at) == ("asked", 30, grant.ends_at)
        assert change.reason.endswith("How it went so far: Two of three runs are done.")
        assert told("change.asked") == ["chief-scientist", "research-head"]
        assert list(queries.changes_waiting_for(world.chief)) == [change]
        assert list(queries.changes_waiting_for(world.ceo)) == []

    def test_the_lead_hears_what_a_member_asks(self, world, grant):
        ask(world, grant, by=world.pitcher)

        assert told("change.asked") == ["chief-scientist", "lead", "research-head"]

    def test_policies_for_extensions_come_first(self, world, grant):
        policy(world, "extension", "research-head", due_working_days=2, division=world.research)

        change = ask(world, grant)

        assert [role.slug for role in change.roles.all()] == ["research-head"]
        assert change.due_at == datetime(2027, 3, 3, 12, tzinfo=UTC)

    @pytest.mark.parametrize("login", ["stranger", "ops", "chief-scientist", "admin", "applied-lead"])
    def test_only_the_project_asks(self, world, grant, login):
        with pytest.raises(NotAllowed):
            ask(world, grant, by=world.everyone[login])

    def test_one_is_open_at_a_time_and_says_why(self, world, grant):
        with pytest.raises(BadTerms):
            ask(world, grant, reason=" ")
        with pytest.raises(BadTerms):
            ask(world, grant, days=0)
        ask(world, grant)
        with pytest.raises(Stale):
            ask(world, grant, by=world.pitcher)

        assert GrantChange.objects.count() == 1

    def test_a_grant_that_ended_early_or_a_project_that_winds_down_asks_for_nothing(self, world, grant, noon):
        world.project.state, world.project.releases_at = "winding_down", noon + DAY
        world.project.save()
        with pytest.raises(WrongState):
            ask(world, grant)
        grants.end_grant(grant=grant, by=world.lead, reason="Done.")
        with pytest.raises(WrongState):
            ask(world, fresh(grant))

    def test_nobody_asks_where_nobody_else_can_sign(self, world, grant):
        RoleHolder.objects.create(
            role=world.role("research-head"), person=world.lead, during=(factories.LONG_AGO, None)
        )
        RoleHolder.objects.filter(person=world.head).delete()

        with pytest.raises(NobodyToSign):
            ask(world, grant, by=world.lead)


class TestSigning:
    def test_an_early_one_loses_no_days(self, world, grant, time_machine, noon):
        """coldfront#610: signed ten days before the end, it is 30 days from the end and not from the signature."""
        change = ask(world, grant)
        time_machine.move_to(noon + 4 * DAY, tick=False)

        both_sign(world, change)

        assert fresh(grant).ends_at == noon + 44 * DAY
        assert fresh(change).takes_effect_at == noon + 14 * DAY
        assert (fresh(change).state, told("change.approved")) == ("approved", ["lead"])

    def test_a_declined_one_keeps_the_rest_of_the_term(self, world, grant, noon):
        """coldfront#610."""
        change = ask(world, grant)
        with pytest.raises(BadTerms):
            decline(world, change, world.head, reason="")
        decline(world, change, world.head)

        assert (fresh(change).state, fresh(grant).ends_at) == ("declined", noon + 14 * DAY)
        assert Event.objects.get(verb="change.declined").reason == "Not now."

    def test_it_holds_with_the_last_signature_only(self, world, grant, noon):
        change = ask(world, grant)

        sign(world, change, world.chief)

        assert (fresh(change).state, fresh(grant).ends_at) == ("asked", noon + 14 * DAY)
        assert list(queries.changes_waiting_for(world.chief)) == []
        assert list(queries.changes_waiting_for(world.head)) == [change]

    def test_one_person_in_two_roles_signs_once(self, world, grant):
        RoleHolder.objects.create(
            role=world.role("research-head"), person=world.chief, during=(factories.LONG_AGO, None)
        )
        change = ask(world, grant)
        sign(world, change, world.chief, "chief-scientist")

        with pytest.raises(NotAllowed):
            sign(world, change, world.chief, "research-head")

        assert ChangeSignOff.objects.count() == 1

    def test_nobody_signs_an_own_ask_also_not_for_somebody_else(self, world, grant, noon):
        """teleport#13416, google/grr#389."""
        factories.member(world.project, world.chief)
        second = factories.holder("chief-scientist", "second-chief")
        Deputy.objects.create(
            principal=second, deputy=world.chief, role=world.role("chief-scientist"), during=(noon, None), set_by=second
        )
        change = ask(world, grant, by=world.chief)

        with pytest.raises(NotAllowed):
            sign(world, change, world.chief, "chief-scientist")

        assert list(queries.changes_waiting_for(world.chief)) == []
        assert list(queries.changes_waiting_for(second)) == [change]

    def test_a_deputy_signs_for_the_principal_and_both_are_named(self, world, grant, noon):
        Deputy.objects.create(
            principal=world.chief, deputy=world.stranger, role=world.role("chief-scientist"), during=(noon, None),
            set_by=world.chief,
        )  # fmt: skip
        change = ask(world, grant)

        signed = sign(world, change, world.stranger)

        assert signed.signer == "stranger for chief-scientist"
        assert Event.objects.get(verb="change.signed").facts["deputy_for"] == "chief-scientist"
        with pytest.raises(Stale):
            sign(world, change, world.chief)

    def test_the_same_answer_again_changes_nothing(self, world, grant):
        change = ask(world, grant)
        first = sign(world, change, world.chief)

        assert sign(world, change, world.chief) == first
        both_sign(world, change)
        assert sign(world, change, world.head).person == world.head
        with pytest.raises(WrongState):
            decline(world, fresh(change), factories.holder("research-head", "second-head"))
        assert fresh(grant).ends_at == grant.ends_at + 30 * DAY

    def test_the_added_time_must_fit_at_the_last_signature(self, world, grant, noon):
        change = ask(world, grant)
        sign(world, change, world.chief)
        factories.grant(world.project, gpus=40, starts_at=noon + 20 * DAY, ends_at=noon + 25 * DAY)

        with pytest.raises(OverShare) as refused:
            sign(world, change, world.head)

        assert refused.value.message == (
            "Research has 20 of 60 H100 left from 21 March to 26 March; the ask is for 32."
        )
        assert (fresh(change).state, ChangeSignOff.objects.count()) == ("asked", 1)
        assert fresh(grant).ends_at == noon + 14 * DAY

    def test_two_approved_one_after_the_other_are_once_each(self, world, grant, noon):
        both_sign(world, ask(world, grant))
        both_sign(world, ask(world, fresh(grant), days=10))

        assert fresh(grant).ends_at == noon + 54 * DAY


class TestPendingAtTheEnd:
    """coldfront#176: what happens to a grant whose extension waits at its end is a rule, and stands on the page."""

    def test_it_ends_on_its_day_and_goes_on_with_the_approval(self, world, grant, time_machine, noon):
        change = ask(world, grant)
        time_machine.move_to(noon + 16 * DAY, tick=False)
        changes.tend()
        assert fresh(grant).ends_at == noon + 14 * DAY

        both_sign(world, change)

        assert (fresh(grant).ends_at, fresh(change).takes_effect_at) == (noon + 46 * DAY, noon + 16 * DAY)
        facts = Event.objects.get(verb="change.approved").facts
        assert (facts["before_ends_at"], facts["takes_effect_at"]) == ("2027-03-15T12:00:00Z", "2027-03-17T12:00:00Z")

    def test_where_the_policy_says_so_it_goes_on_day_by_day_until_it_is_decided(self, world, grant, time_machine, noon):
        policy(world, "extension", "chief-scientist", "research-head", keeps_while_asked=True)
        change = ask(world, grant)
        time_machine.move_to(noon + 13 * DAY, tick=False)
        changes.tend()
        assert fresh(grant).ends_at == noon + 14 * DAY  # a day before its end nothing is due yet
        for day in (14, 15):
            time_machine.move_to(noon + day * DAY - timedelta(minutes=30), tick=False)
            changes.tend()
            changes.tend()
            assert fresh(grant).ends_at == noon + (day + 1) * DAY

        both_sign(world, change)

        # The 30 days count from its own end: those it went on for are part of them.
        assert fresh(grant).ends_at == noon + 44 * DAY
        assert verbs(grant) == ["grant.kept", "grant.kept"]

    def test_without_policies_for_extensions_those_for_pitches_say_whether_it_goes_on(
        self, world, grant, time_machine, noon
    ):
        Policy.objects.filter(subject="pitch", division=world.research).update(keeps_while_asked=True)
        ask(world, grant)
        time_machine.move_to(noon + 14 * DAY - timedelta(minutes=30), tick=False)
        changes.tend()

        assert fresh(grant).ends_at == noon + 15 * DAY

    def test_a_worker_that_was_down_over_the_end_makes_up_for_it_once(self, world, grant, time_machine, noon):
        policy(world, "extension", "research-head", keeps_while_asked=True)
        ask(world, grant)
        time_machine.move_to(noon + 14 * DAY + timedelta(hours=5), tick=False)
        changes.tend()
        changes.tend()

        assert (fresh(grant).ends_at, verbs(grant)) == (noon + 15 * DAY, ["grant.kept"])

    def test_declined_while_it_went_on_it_ends_then(self, world, grant, time_machine, noon):
        policy(world, "extension", "research-head", keeps_while_asked=True)
        change = ask(world, grant)
        time_machine.move_to(noon + 14 * DAY - timedelta(minutes=30), tick=False)
        changes.tend()
        time_machine.move_to(noon + 14 * DAY + timedelta(hours=5), tick=False)

        decline(world, change, world.head)

        assert fresh(grant).ends_at == noon + 14 * DAY + timedelta(hours=5)

    def test_withdrawn_before_its_end_it_ends_on_its_day(self, world, grant, time_machine, noon):
        policy(world, "extension", "research-head", keeps_while_asked=True)
        change = ask(world, grant)
        time_machine.move_to(noon + 14 * DAY - timedelta(minutes=30), tick=False)
        changes.tend()

        changes.withdraw_change(change=change, by=world.lead)

        assert (fresh(grant).ends_at, fresh(change).state) == (noon + 14 * DAY, "withdrawn")

    def test_it_does_not_go_on_where_others_were_promised_what_it_holds_and_people_hear_once(
        self, world, grant, time_machine, noon
    ):
        policy(world, "extension", "research-head", keeps_while_asked=True)
        factories.grant(world.project, gpus=40, starts_at=noon + 14 * DAY, ends_at=noon + 20 * DAY)
        ask(world, grant)
        time_machine.move_to(noon + 14 * DAY - timedelta(minutes=30), tick=False)
        changes.tend()
        changes.tend()

        assert fresh(grant).ends_at == noon + 14 * DAY
        assert told("grant.not_kept") == ["lead", "research-head"]

    def test_the_days_it_goes_on_for_are_promised_to_nobody_else(self, world, grant, time_machine, noon):
        policy(world, "extension", "research-head", keeps_while_asked=True)
        ask(world, grant)
        time_machine.move_to(noon + 14 * DAY - timedelta(minutes=30), tick=False)
        changes.tend()

        with pytest.raises(OverShare):
            grants.require_room(
                project=world.project, model=grant.model, gpus=29, starts_at=noon + 14 * DAY, ends_at=noon + 20 * DAY
            )
        assert Grant.objects.count() == 1
