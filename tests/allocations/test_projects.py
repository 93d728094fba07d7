"""Projects, members and roles: object permissions and the trail keep step with who works where and who holds what."""

from datetime import timedelta

import pytest

from allocations import grants, projects, queries, rules
from allocations.errors import BadTerms, NotAllowed, Stale, WrongState
from allocations.models import Grant, OutboxMessage, Project, ProjectTerms, RoleHolder
from inventory.models import Event
from tests import factories
from tests.allocations.acts import told, verbs

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


def permissions(person, project):
    names = ("view_project", "pitch_for_project", "lead_project")
    return [name for name in names if queries.projects_with(person, name).filter(pk=project.pk).exists()]


class TestMembers:
    def test_the_lead_of_a_new_project_is_its_first_member(self, world):
        project = projects.create_project(
            slug="robots", name="Robots", division=world.research, lead=world.stranger, by=world.ops
        )

        assert permissions(world.stranger, project) == ["view_project", "pitch_for_project", "lead_project"]
        assert (project.state, project.memberships.get().person) == ("active", world.stranger)
        assert verbs(project) == ["project.created", "member.joined"]

    def test_a_slug_is_given_once(self, world):
        with pytest.raises(BadTerms) as refused:
            projects.create_project(
                slug="assistant", name="A", division=world.research, lead=world.stranger, by=world.admin
            )

        assert refused.value.facts == {"field": "slug"}

    def test_a_member_comes_and_goes_with_the_permissions(self, world, noon, time_machine):
        projects.add_member(project=world.project, person=world.stranger, by=world.lead)
        projects.add_member(project=world.project, person=world.stranger, by=world.lead)
        assert permissions(world.stranger, world.project) == ["view_project", "pitch_for_project"]
        time_machine.move_to(noon + timedelta(days=1), tick=False)

        projects.end_membership(project=world.project, person=world.stranger, by=world.lead)

        assert permissions(world.stranger, world.project) == []
        assert verbs(world.project) == ["member.joined", "member.left"]
        assert world.project.memberships.filter(person=world.stranger, during__endswith=None).count() == 0

    def test_somebody_may_come_back(self, world, time_machine, noon):
        projects.end_membership(project=world.project, person=world.pitcher, by=world.lead)
        time_machine.move_to(noon + timedelta(days=1), tick=False)

        projects.add_member(project=world.project, person=world.pitcher, by=world.lead)

        assert world.project.memberships.filter(person=world.pitcher).count() == 2
        assert permissions(world.pitcher, world.project) == ["view_project", "pitch_for_project"]

    def test_the_lead_does_not_leave_before_there_is_another(self, world):
        with pytest.raises(BadTerms):
            projects.end_membership(project=world.project, person=world.lead, by=world.admin)
        projects.set_lead(project=world.project, person=world.team_mate, by=world.lead)
        projects.end_membership(project=world.project, person=world.lead, by=world.team_mate)

        assert permissions(world.lead, world.project) == []
        assert permissions(world.team_mate, world.project) == ["view_project", "pitch_for_project", "lead_project"]

    def test_somebody_who_is_no_member_cannot_leave(self, world):
        with pytest.raises(WrongState):
            projects.end_membership(project=world.project, person=world.stranger, by=world.lead)


class TestRoles:
    def test_a_role_is_held_from_now_until_its_end(self, world, noon, time_machine):
        projects.give_role(
            role=world.role("ops"), person=world.stranger, by=world.admin, until=noon + timedelta(days=7)
        )
        assert rules.holds(world.stranger, "ops") is True

        time_machine.move_to(noon + timedelta(days=7), tick=False)

        assert rules.holds(world.stranger, "ops") is False

    def test_the_trail_says_when_nobody_is_left(self, world):
        projects.end_role(role=world.role("ceo"), person=world.ceo, by=world.admin)

        assert rules.roles_of(world.ceo) == []
        assert Event.objects.get(verb="role.ended").facts == {"person": "ceo", "holders_left": 0}

    def test_a_role_is_not_given_twice_nor_ended_twice(self, world):
        with pytest.raises(WrongState):
            projects.give_role(role=world.role("ceo"), person=world.ceo, by=world.admin)
        projects.end_role(role=world.role("ceo"), person=world.ceo, by=world.admin)
        with pytest.raises(WrongState):
            projects.end_role(role=world.role("ceo"), person=world.ceo, by=world.admin)

        assert RoleHolder.objects.filter(role__slug="ceo").count() == 1

    def test_a_role_does_not_end_before_it_begins(self, world, noon):
        with pytest.raises(BadTerms):
            projects.give_role(role=world.role("ops"), person=world.stranger, by=world.admin, until=noon)

    @pytest.mark.parametrize("login", ["ceo", "ops", "auditor", "lead", "stranger"])
    def test_only_an_admin_gives_roles(self, world, login):
        with pytest.raises(NotAllowed):
            projects.give_role(role=world.role("ceo"), person=world.stranger, by=world.everyone[login])

    def test_a_new_admin_gets_past_the_door_of_the_admin_site(self, world):
        projects.give_role(role=world.role("admin"), person=world.stranger, by=world.admin)

        world.stranger.refresh_from_db()
        assert (world.stranger.is_staff, world.stranger.is_superuser) == (True, False)


class TestWindingDown:
    @pytest.mark.parametrize("login", ["lead", "ops"])
    def test_it_has_a_reason_and_a_promised_release_and_the_lead_is_told(self, world, noon, login):
        until = noon + timedelta(days=10)

        projects.wind_down(project=world.project, by=world.everyone[login], reason="Paper is out.", releases_at=until)

        stored = Project.objects.get(pk=world.project.pk)
        assert (stored.state, stored.wind_down_reason, stored.releases_at) == ("winding_down", "Paper is out.", until)
        assert (verbs(stored), told("project.winding_down")) == (["project.winding_down"], ["lead"])

    def test_resumed_it_promises_no_release(self, world, noon):
        projects.wind_down(project=world.project, by=world.lead, reason="Done.", releases_at=noon + timedelta(days=1))

        projects.resume_project(project=world.project, by=world.ops, reason="Reviewers ask for more.")

        stored = Project.objects.get(pk=world.project.pk)
        assert (stored.state, stored.wind_down_reason, stored.releases_at) == ("active", "", None)

    @pytest.mark.parametrize(("reason", "days", "field"), [("", 1, "reason"), ("Done.", 0, "releases_at")])
    def test_it_is_refused_without_a_reason_or_with_a_release_that_has_passed(self, world, noon, reason, days, field):
        with pytest.raises(BadTerms) as refused:
            projects.wind_down(
                project=world.project, by=world.lead, reason=reason, releases_at=noon + timedelta(days=days)
            )

        assert (refused.value.facts, OutboxMessage.objects.count()) == ({"field": field}, 0)

    @pytest.mark.parametrize("login", ["pitcher", "chief-scientist", "ceo", "auditor", "admin", "applied-lead"])
    def test_nobody_else_winds_it_down_or_ends_it(self, world, noon, login):
        person = world.everyone[login]
        with pytest.raises(NotAllowed):
            projects.wind_down(project=world.project, by=person, reason="Mine.", releases_at=noon + timedelta(days=1))
        with pytest.raises(NotAllowed):
            projects.end_project(project=world.project, by=person, reason="Mine.")

        assert Project.objects.get(pk=world.project.pk).state == "active"

    def test_pressed_twice_it_winds_down_once(self, world, noon):
        seen = Project.objects.get(pk=world.project.pk)
        day = noon + timedelta(days=1)
        projects.wind_down(project=world.project, by=world.lead, reason="Done.", releases_at=day)

        with pytest.raises(Stale) as refused:
            projects.wind_down(project=seen, by=world.lead, reason="Done.", releases_at=day)

        assert refused.value.message == "Somebody was first: this project is no longer active. Look again."
        assert told("project.winding_down") == ["lead"]

    def test_with_a_project_its_promises_end(self, world, noon):
        running = factories.grant(world.project, gpus=8)
        over = factories.grant(world.project, starts_at=noon - timedelta(days=9), ends_at=noon - timedelta(days=1))

        projects.end_project(project=world.project, by=world.lead, reason="Merged.")

        assert (Project.objects.get(pk=world.project.pk).state, Grant.objects.get(pk=running.pk).ends_at) == (
            "ended",
            noon,
        )
        assert Grant.objects.get(pk=over.pk).ended_at is None
        assert Event.objects.get(verb="project.ended").facts["grants"] == [str(running.public_id)]
        with pytest.raises(WrongState) as refused:
            projects.resume_project(project=world.project, by=world.lead, reason="Again.")
        assert refused.value.message == "This project: ended. There is no step from here to: active."


class TestTerms:
    def terms(self, world, by=None, **changes):
        values = {
            "guarantee_gpus": 8, "protected": True, "quota_gpus": 64, "priority": 1, "reason": "Keeps the lights on.",
        }  # fmt: skip
        return projects.set_terms(project=world.project, by=by or world.chief, **{**values, **changes})

    def test_new_terms_take_the_place_of_those_before_on_their_day(self, world, noon):
        first = self.terms(world, starts_at=noon)
        later = self.terms(world, starts_at=noon + timedelta(days=5), priority=2)
        between = self.terms(world, starts_at=noon + timedelta(days=2), priority=3)

        days = [
            (terms.priority, (terms.during.lower - noon).days, terms.during.upper and (terms.during.upper - noon).days)
            for terms in ProjectTerms.objects.order_by("during")
        ]
        assert days == [(1, 0, 2), (3, 2, 5), (2, 5, None)]
        assert {first.signed_by, later.signed_by, between.signed_by} == {world.chief}
        assert Event.objects.filter(verb="project.terms").count() == 3

    @pytest.mark.parametrize("login", ["ceo-applications", "ops", "lead", "admin", "pitcher"])
    def test_only_a_decider_of_the_division_signs_them(self, world, noon, login):
        with pytest.raises(NotAllowed):
            self.terms(world, by=world.everyone[login], starts_at=noon)

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"reason": ""}, "reason"),
            ({"guarantee_gpus": 65}, "guarantee_gpus"),
            ({"guarantee_gpus": -1}, "guarantee_gpus"),
            ({"starts_at": factories.LONG_AGO}, "starts_at"),
        ],
    )
    def test_terms_that_make_no_sense_are_refused(self, world, noon, changes, field):
        with pytest.raises(BadTerms) as refused:
            self.terms(world, **{"starts_at": noon, **changes})

        assert refused.value.facts == {"field": field}

    def test_two_terms_do_not_begin_at_one_instant(self, world, noon):
        self.terms(world, starts_at=noon)

        with pytest.raises(BadTerms) as refused:
            self.terms(world, starts_at=noon)

        assert (refused.value.facts, ProjectTerms.objects.count()) == ({"field": "starts_at"}, 1)


def test_an_ended_grant_is_told_to_the_lead_with_its_reason(world):
    grant = factories.grant(world.project, gpus=8)

    grants.end_grant(grant=grant, by=world.lead, reason="Others need them more.")

    message = OutboxMessage.objects.get()
    assert message.subject == "Protein folding: a grant of 8 H100 has ended"
    assert message.body.startswith("lead ended it early: Others need them more.\nIt was promised until 15 March.")
