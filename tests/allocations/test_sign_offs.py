"""Sign-offs: approved, approved for less, declined; what the last one promises, and what it may not."""

from datetime import date, timedelta

import pytest

from allocations import projects, queries
from allocations.errors import BadTerms, NotAllowed, OverCapacity, OverShare, Stale, WrongState
from allocations.models import Grant, OutboxMessage, Pitch, PitchRole, RoleHolder, SignOff
from inventory.models import Event
from tests import factories
from tests.allocations.acts import approve, decline, draft, submit, told, verbs

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


class TestSignOff:
    def test_two_signatures_of_two_roles_make_a_grant_for_the_full_time(self, world, noon):
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist")

        approve(world, pitch, world.head, "research-head")

        grant = Grant.objects.get(pitch=pitch)
        assert (pitch.state, pitch.decided_by, pitch.decided_at) == ("granted", world.head, noon)
        assert (grant.gpus, grant.starts_at, grant.ends_at) == (32, noon, noon + timedelta(days=14))
        assert verbs(pitch) == ["pitch.drafted", "pitch.submitted", "sign_off.given", "sign_off.given", "pitch.granted"]
        assert verbs(grant) == ["grant.issued"]
        assert (told("pitch.submitted"), told("pitch.granted")) == (["chief-scientist", "research-head"], ["pitcher"])

    def test_a_grant_that_starts_later_runs_from_its_first_day(self, world, settings):
        settings.SITE_TIME_ZONE = "Europe/Madrid"
        pitch = submit(world, start_on=date(2027, 3, 20), days=14)  # clocks change on 28 March
        approve(world, pitch, world.chief, "chief-scientist")
        approve(world, pitch, world.head, "research-head")

        grant = Grant.objects.get()

        assert grant.starts_at.isoformat() == "2027-03-19T23:00:00+00:00"
        assert grant.ends_at.isoformat() == "2027-04-02T22:00:00+00:00"

    def test_a_second_chief_scientist_is_no_research_head(self, world):
        """gravitational/teleport#36854."""
        second = factories.holder("chief-scientist", "second-chief")
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist")

        with pytest.raises(NotAllowed):
            approve(world, pitch, second, "research-head")
        with pytest.raises(Stale):
            approve(world, pitch, second, "chief-scientist")

        assert (pitch.state, SignOff.objects.count(), Grant.objects.count()) == ("submitted", 1, 0)

    def test_one_person_with_both_roles_signs_once_in_a_round(self, world):
        """gravitational/teleport#36854."""
        factories.holder("research-head", who=world.chief)
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist")

        with pytest.raises(NotAllowed):
            approve(world, pitch, world.chief, "research-head")

        assert (SignOff.objects.count(), list(queries.queue_of(world.chief))) == (1, [])

    @pytest.mark.parametrize("verdict", ["approve", "decline"])
    def test_nobody_signs_a_pitch_of_their_own(self, world, verdict):
        """teleport#13416."""
        factories.member(world.project, world.chief)
        factories.holder("chief-scientist", "second-chief")
        pitch = submit(world, by=world.chief)

        with pytest.raises(NotAllowed) as refused:
            (approve if verdict == "approve" else decline)(world, pitch, world.chief, "chief-scientist")

        assert refused.value.message == (
            "Nobody signs a pitch of their own. Those who sign this one: Chief scientist, Research head."
        )
        assert (SignOff.objects.count(), list(queries.queue_of(world.chief))) == (0, [])

    @pytest.mark.parametrize("login", ["ceo", "ceo-applications", "ops", "auditor", "admin", "lead", "team-mate"])
    def test_a_role_that_the_policy_does_not_name_signs_nothing(self, world, login):
        pitch = submit(world)
        own = world.everyone[login]

        for role in ("chief-scientist", "ceo"):
            with pytest.raises(NotAllowed):
                approve(world, pitch, own, role)

        assert SignOff.objects.count() == 0

    def test_being_a_superuser_signs_nothing(self, world):
        """teleport#13416: not as an admin either."""
        pitch = submit(world)
        root = factories.person("root", is_superuser=True, is_staff=True)

        with pytest.raises(NotAllowed):
            approve(world, pitch, root, "chief-scientist")

        assert SignOff.objects.count() == 0

    def test_a_role_that_has_ended_signs_nothing(self, world, noon):
        pitch = submit(world)
        RoleHolder.objects.filter(person=world.chief).update(during=(factories.LONG_AGO, noon))

        with pytest.raises(NotAllowed):
            approve(world, pitch, world.chief, "chief-scientist")

        assert list(queries.queue_of(world.chief)) == []

    def test_a_draft_is_not_signed(self, world):
        pitch = draft(world)
        PitchRole.objects.create(pitch=pitch, role=world.role("chief-scientist"))

        with pytest.raises(WrongState):
            approve(world, pitch, world.chief, "chief-scientist")

        assert SignOff.objects.count() == 0

    def test_the_same_decision_pressed_twice_has_one_effect_and_one_notice(self, world):
        pitch = submit(world)
        first = approve(world, pitch, world.chief, "chief-scientist")
        again = approve(world, pitch, world.chief, "chief-scientist")
        last = approve(world, pitch, world.head, "research-head", round=1)

        last_again = approve(world, pitch, world.head, "research-head", round=1)

        assert (again, last_again) == (first, last)
        assert (SignOff.objects.count(), Grant.objects.count(), told("pitch.granted")) == (2, 1, ["pitcher"])

    def test_a_decision_is_not_changed_by_its_author_afterwards(self, world):
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist")

        with pytest.raises(Stale):
            decline(world, pitch, world.chief, "chief-scientist")

        assert list(SignOff.objects.values_list("verdict", flat=True)) == ["approve"]


class TestApproveLess:
    def test_fewer_gpus_open_the_next_round_and_the_others_sign_again(self, world):
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist")

        approve(world, pitch, world.head, "research-head", gpus=16)

        assert (pitch.state, pitch.round, pitch.offered_gpus) == ("submitted", 2, 16)
        assert list(queries.queue_of(world.chief)) == [pitch]
        assert list(queries.queue_of(world.head)) == []
        assert [role.slug for role in queries.roles_that_wait(pitch)] == ["chief-scientist"]
        assert told("sign_off.given") == ["chief-scientist", "pitcher"]

        approve(world, pitch, world.chief, "chief-scientist")

        assert (pitch.state, Grant.objects.get().gpus) == ("granted", 16)

    def test_a_single_signer_who_approves_less_grants_less(self, world):
        pitch = submit(world, by=world.applied_pitcher, project=world.applied_project)

        approve(world, pitch, world.ceo_apps, "ceo-applications", gpus=8)

        assert (pitch.state, pitch.round, Grant.objects.get().gpus) == ("granted", 2, 8)

    def test_pressed_twice_it_opens_one_round(self, world):
        pitch = submit(world)
        first = approve(world, pitch, world.chief, "chief-scientist", gpus=16, round=1)

        again = approve(world, pitch, world.chief, "chief-scientist", gpus=16, round=1)

        assert (again, pitch.round, SignOff.objects.count()) == (first, 2, 1)

    @pytest.mark.parametrize("gpus", [33, 0, -1])
    def test_more_than_was_asked_for_or_none_is_refused(self, world, gpus):
        pitch = submit(world)

        with pytest.raises(BadTerms) as refused:
            approve(world, pitch, world.chief, "chief-scientist", gpus=gpus)

        assert refused.value.facts == {"field": "gpus", "min_gpus": 8, "most_gpus": 32}
        assert (SignOff.objects.count(), Pitch.objects.get().round) == (0, 1)

    def test_a_signer_who_saw_the_round_before_signs_nothing(self, world):
        pitch = submit(world)
        approve(world, pitch, world.head, "research-head", gpus=16)

        with pytest.raises(Stale) as refused:
            approve(world, pitch, world.chief, "chief-scientist", round=1)

        assert refused.value.message == "The terms have changed since you looked: 16 GPUs are on the table now."
        assert (pitch.state, SignOff.objects.count()) == ("submitted", 1)


class TestDecline:
    def test_one_decline_decides_with_its_reason(self, world, noon):
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist")

        decline(world, pitch, world.head, "research-head", reason="After the review.")

        assert (pitch.state, pitch.decided_by, Grant.objects.count()) == ("declined", world.head, 0)
        assert Event.objects.get(verb="pitch.declined").reason == "After the review."
        message = OutboxMessage.objects.get(event__verb="pitch.declined")
        assert (message.person, message.subject) == (world.pitcher, "Declined: Fold larger proteins")
        assert message.body == "research-head declined it: After the review."

    def test_it_needs_a_reason(self, world):
        pitch = submit(world)

        with pytest.raises(BadTerms) as refused:
            decline(world, pitch, world.chief, "chief-scientist", reason=" ")

        assert (refused.value.facts["field"], SignOff.objects.count()) == ("reason", 0)

    def test_a_declined_pitch_is_not_approved_any_more(self, world):
        pitch = submit(world)
        seen = Pitch.objects.get(pk=pitch.pk)
        decline(world, pitch, world.chief, "chief-scientist")

        with pytest.raises(Stale):
            approve(world, seen, world.head, "research-head")
        with pytest.raises(WrongState):
            approve(world, pitch, world.head, "research-head")

        assert (pitch.state, told("pitch.declined")) == ("declined", ["pitcher"])


class TestCapacityAtTheLastSignature:
    def test_a_pitch_that_no_longer_fits_is_refused_with_the_numbers_and_nothing_is_written(self, world):
        """calcom/cal.diy#29958: it says why it no longer fits."""
        pitch = submit(world, gpus=40)
        approve(world, pitch, world.chief, "chief-scientist")
        factories.grant(world.project, gpus=48)

        with pytest.raises(OverShare) as refused:
            approve(world, pitch, world.head, "research-head")

        assert refused.value.message == "Research has 12 of 60 H100 left from 1 March to 15 March; the ask is for 40."
        numbers = {name: refused.value.facts[name] for name in ("limit_gpus", "left_gpus", "free_gpus", "short_gpus")}
        assert numbers == {"limit_gpus": 60, "left_gpus": 12, "free_gpus": 12, "short_gpus": 28}
        assert (pitch.state, SignOff.objects.count(), Grant.objects.filter(pitch=pitch).count()) == ("submitted", 1, 0)
        assert (told("pitch.granted"), verbs(pitch)[-1]) == ([], "sign_off.given")

    def test_the_last_signer_may_then_approve_what_is_left(self, world):
        pitch = submit(world, gpus=40)
        approve(world, pitch, world.chief, "chief-scientist")
        factories.grant(world.project, gpus=48)
        approve(world, pitch, world.head, "research-head", gpus=12)

        approve(world, pitch, world.chief, "chief-scientist")

        assert (pitch.state, Grant.objects.get(pitch=pitch).gpus) == ("granted", 12)

    def test_a_refused_counter_offer_leaves_the_round_as_it_was(self, world):
        pitch = submit(world, by=world.applied_pitcher, project=world.applied_project, gpus=32)
        factories.grant(world.applied_project, gpus=30)

        with pytest.raises(OverShare):
            approve(world, pitch, world.ceo_apps, "ceo-applications", gpus=16)

        stored = Pitch.objects.get()
        assert (pitch.round, pitch.offered_gpus, stored.round, stored.offered_gpus) == (1, 32, 1, 32)

    def test_promises_of_both_divisions_stay_within_what_is_healthy(self, world):
        """kueue#2665: 300 promised out of 256."""
        pitch = submit(world, gpus=30)
        approve(world, pitch, world.chief, "chief-scientist")
        factories.grant(world.applied_project, gpus=80)  # somebody signed for an exception above Applied's share

        with pytest.raises(OverCapacity) as refused:
            approve(world, pitch, world.head, "research-head")

        assert refused.value.message == "20 of 100 healthy H100 are left from 1 March to 15 March; the ask is for 30."

    def test_a_project_that_has_ended_since_is_only_declined(self, world):
        pitch = submit(world)
        projects.end_project(project=world.project, by=world.lead, reason="Merged.")
        with pytest.raises(WrongState):
            approve(world, pitch, world.chief, "chief-scientist")

        decline(world, pitch, world.chief, "chief-scientist")

        assert pitch.state == "declined"


class TestCost:
    """One approval is some thirty statements, however much there is besides."""

    def test_the_first_signature(self, world, django_assert_max_num_queries):
        pitch = submit(world)

        with django_assert_max_num_queries(30):
            approve(world, pitch, world.chief, "chief-scientist")

    def test_the_last_signature(self, world, django_assert_max_num_queries):
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist")
        factories.grant(world.project, gpus=1)

        with django_assert_max_num_queries(33):
            approve(world, pitch, world.head, "research-head")
