"""A pitch until it waits for signatures, or is taken back: what is refused, and what stands in rows and trail."""

from datetime import date, timedelta

import pytest

from allocations import pitches, projects, queries
from allocations.errors import BadTerms, NobodyToSign, NotAllowed, Stale, WrongState
from allocations.models import Grant, Person, Pitch, PitchRole, Policy, RoleHolder
from inventory.models import Event
from tests import factories
from tests.allocations.acts import approve, decline, draft, submit, told, verbs

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


class TestDraft:
    def test_a_draft_need_not_be_whole_and_can_be_rewritten(self, world):
        pitch = draft(world, title="", why="")

        draft(world, pitch=pitch, title="  Fold  ", gpus=16, model=factories.model("A100"))

        pitch.refresh_from_db()
        assert (pitch.state, pitch.title, pitch.ideal_gpus, pitch.offered_gpus) == ("draft", "Fold", 16, 16)
        assert verbs(pitch) == ["pitch.drafted", "pitch.edited"]
        changed = Event.objects.get(verb="pitch.edited").facts["changed"]
        assert changed == ["ideal_gpus", "model", "offered_gpus", "title", "why"]

    def test_the_trail_that_many_read_says_nothing_of_what_a_draft_says(self, world):
        pitch = draft(world, title="Merge with the others", why="Nobody may know yet.")
        draft(world, pitch=pitch, title="Merge next month", why="Still nobody.")

        pitches.withdraw_pitch(pitch=pitch, by=world.pitcher)

        events = Event.objects.filter(subject_kind="pitch").order_by("pk")
        assert [(event.verb, event.subject_label) for event in events] == [
            ("pitch.drafted", "a draft"),
            ("pitch.edited", "a draft"),
            ("pitch.withdrawn", "a draft"),
        ]
        told = str([event.facts for event in events])
        assert ("Merge" in told, "obody" in told) == (False, False)

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"ideal_gpus": 0}, "ideal_gpus"),
            ({"ideal_gpus": 1_000_001}, "ideal_gpus"),
            ({"min_gpus": 0}, "min_gpus"),
            ({"min_gpus": 33}, "min_gpus"),
            ({"days": 0}, "days"),
            ({"days": 731}, "days"),
            ({"title": "x" * 141}, "title"),
        ],
    )
    def test_numbers_that_no_pitch_can_have_are_refused_with_their_field(self, world, changes, field):
        with pytest.raises(BadTerms) as refused:
            draft(world, **changes)

        assert refused.value.facts["field"] == field
        assert Pitch.objects.count() == 0

    def test_only_its_writer_edits_it_and_only_while_it_is_a_draft(self, world):
        pitch = draft(world)
        with pytest.raises(NotAllowed):
            draft(world, pitch=pitch, by=world.team_mate, title="Mine")
        pitches.submit_pitch(pitch=pitch, by=world.pitcher)

        with pytest.raises(WrongState):
            draft(world, pitch=pitch, title="Later")

        assert Pitch.objects.get().title == "Fold larger proteins"

    def test_a_stranger_does_not_pitch_for_the_project(self, world):
        with pytest.raises(NotAllowed) as refused:
            draft(world, by=world.stranger)

        assert refused.value.message == "You may not do that. Those who may: the members of Protein folding, Ops."


class TestSubmission:
    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"title": " "}, "title"),
            ({"why": ""}, "why"),
            ({"start_on": date(2027, 2, 28)}, "start_on"),
            ({"start_on": date(2029, 3, 1)}, "start_on"),
            ({"check_on": date(2027, 2, 28)}, "check_on"),
        ],
    )
    def test_what_is_not_whole_stays_a_draft(self, world, changes, field):
        """roscisz/TensorHive#326: nor does what starts in the past."""
        pitch = draft(world, **changes)

        with pytest.raises(BadTerms) as refused:
            pitches.submit_pitch(pitch=pitch, by=world.pitcher)

        assert refused.value.facts["field"] == field
        assert (Pitch.objects.get().state, told("pitch.submitted")) == ("draft", [])

    def test_ops_may_name_a_first_day_in_the_past_and_the_trail_says_so(self, world):
        """roscisz/TensorHive#326."""
        pitch = submit(world, by=world.ops, start_on=date(2027, 2, 20))
        approve(world, pitch, world.chief, "chief-scientist")
        approve(world, pitch, world.head, "research-head")

        assert Event.objects.get(verb="pitch.submitted").facts["back_dated"] is True
        assert Grant.objects.get().ends_at - Grant.objects.get().starts_at == timedelta(days=14)

    def test_a_project_that_winds_down_takes_no_new_gpus(self, world, noon):
        pitch = draft(world)
        projects.wind_down(project=world.project, by=world.lead, reason="Done", releases_at=noon + timedelta(days=9))

        with pytest.raises(BadTerms) as refused:
            pitches.submit_pitch(pitch=pitch, by=world.pitcher)

        assert refused.value.facts["field"] == "project"

    @pytest.mark.parametrize(
        ("gpus", "days", "applied", "signers"),
        [
            (32, 14, False, ["chief-scientist", "research-head"]),
            (32, 14, True, ["ceo-applications"]),
            (1_023, 14, False, ["chief-scientist", "research-head"]),
            (1_024, 1, False, ["ceo", "ceo-applications", "chief-scientist", "research-head"]),
            (1_000, 70, True, ["ceo", "ceo-applications"]),  # 1.68 million GPU-hours
        ],
    )
    def test_the_policies_that_fit_say_who_signs(self, lab, gpus, days, applied, signers):
        factories.split()
        division = lab.applied if applied else lab.research

        roles = queries.roles_for_pitch(division=division, gpus=gpus, days=days)

        assert sorted(role.slug for role in roles) == signers

    def test_a_policy_of_another_day_changes_nothing_for_a_submitted_pitch(self, world, noon):
        pitch = submit(world)

        Policy.objects.update(during=(factories.LONG_AGO, noon))

        assert sorted(pitch.roles.values_list("slug", flat=True)) == ["chief-scientist", "research-head"]
        with pytest.raises(NobodyToSign):
            submit(world)

    def test_a_role_with_nobody_is_named(self, world, noon):
        RoleHolder.objects.filter(person=world.head).update(during=(factories.LONG_AGO, noon))

        with pytest.raises(NobodyToSign) as refused:
            submit(world)

        assert refused.value.message == "Nobody holds the role Research head. Ask an admin to give it to somebody."
        assert (PitchRole.objects.count(), refused.value.facts) == (0, {"role": "research-head"})

    def test_a_holder_who_may_no_longer_log_in_is_nobody(self, world):
        Person.objects.filter(pk=world.head.pk).update(is_active=False)

        with pytest.raises(NobodyToSign):
            submit(world)

    def test_two_roles_in_one_hand_are_not_two_people(self, world, noon):
        RoleHolder.objects.filter(person=world.head).update(during=(factories.LONG_AGO, noon))
        factories.holder("research-head", who=world.chief)

        with pytest.raises(NobodyToSign) as refused:
            submit(world)

        assert refused.value.facts["role"] == "research-head"

    def test_the_only_holder_of_a_role_cannot_pitch_there(self, world):
        factories.member(world.applied_project, world.ceo_apps)

        with pytest.raises(NobodyToSign):
            submit(world, by=world.ceo_apps, project=world.applied_project)

    def test_the_only_holder_of_a_role_can_once_there_is_a_second_one(self, world):
        factories.member(world.applied_project, world.ceo_apps)
        second = factories.holder("ceo-applications", "second-ceo")

        pitch = submit(world, by=world.ceo_apps, project=world.applied_project)

        assert told("pitch.submitted") == ["second-ceo"]
        assert list(queries.queue_of(world.ceo_apps)) == []
        assert list(queries.queue_of(second)) == [pitch]

    def test_submitting_twice_tells_the_signers_once(self, world):
        pitch = draft(world)
        again = Pitch.objects.get(pk=pitch.pk)
        pitches.submit_pitch(pitch=pitch, by=world.pitcher)

        with pytest.raises(Stale):
            pitches.submit_pitch(pitch=again, by=world.pitcher)

        assert told("pitch.submitted") == ["chief-scientist", "research-head"]


class TestWithdrawal:
    @pytest.mark.parametrize("login", ["pitcher", "lead"])
    def test_the_pitcher_or_the_lead_takes_it_back(self, world, login):
        """coldfront/coldfront#788."""
        pitch = submit(world)

        pitches.withdraw_pitch(pitch=pitch, by=world.everyone[login], reason="Solved on CPUs.")

        assert (Pitch.objects.get().state, list(queries.queue_of(world.chief))) == ("withdrawn", [])
        assert Event.objects.get(verb="pitch.withdrawn").facts == {"before": "submitted"}

    def test_nobody_else_does_and_no_decided_one_is_taken_back(self, world):
        pitch = submit(world)
        with pytest.raises(NotAllowed):
            pitches.withdraw_pitch(pitch=pitch, by=world.chief)
        decline(world, pitch, world.chief, "chief-scientist")

        with pytest.raises(WrongState):
            pitches.withdraw_pitch(pitch=pitch, by=world.pitcher)

        assert Pitch.objects.get().state == "declined"
