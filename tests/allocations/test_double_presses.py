"""The same thing done twice at once: one effect, one event, one notice."""

from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone

from allocations import grants, idle, outbox, pitches, projects, splits, turns
from allocations.models import IdlePhase, Membership, ProjectTerms, RoleHolder, Split
from allocations.outbox.mail import Mail
from allocations.pitches import common
from inventory.models import Event
from tests import factories
from tests.allocations.acts import submit, told
from tests.races import Window, at_once, kinds

pytestmark = pytest.mark.django_db(transaction=True)


def fresh(row):
    """The row as another person's request reads it."""
    return type(row).objects.get(pk=row.pk)


class TestPressedTwiceAtOnce:
    """Two requests that both read the row before either wrote: one effect, one event, one notice."""

    def test_submit(self, world, monkeypatch):
        pitch = factories.pitch(world.project, world.pitcher)
        one, other = fresh(pitch), fresh(pitch)
        monkeypatch.setattr(common, "require_state", Window().after(common.require_state))

        outcomes = at_once(*(lambda row=row: pitches.submit_pitch(pitch=row, by=world.pitcher) for row in (one, other)))

        assert kinds(outcomes) == ["Pitch", "Stale"]
        assert told("pitch.submitted") == ["chief-scientist", "research-head"]

    def test_a_quiet_phase(self, world, monkeypatch):
        now = timezone.now()
        said = {"starts_at": now, "ends_at": now + timedelta(days=1), "reason": "A demo waits for its hour."}
        monkeypatch.setattr(idle.answers, "lock_row", Window().before(idle.answers.lock_row))
        monkeypatch.setattr(IdlePhase.objects, "create", Window().before(IdlePhase.objects.create))

        outcomes = at_once(
            *(lambda: idle.declare_phase(project=fresh(world.project), by=world.lead, **said) for _ in range(2))
        )

        assert [*outcomes, *IdlePhase.objects.all()] == [IdlePhase.objects.get()] * 3
        assert Event.objects.filter(verb="idle.phase_declared").count() == 1

    def test_end_of_a_grant(self, world, monkeypatch):
        grant = factories.grant(world.project)
        rows = [fresh(grant), fresh(grant)]
        monkeypatch.setattr(grants, "end_early", Window().before(grants.end_early))

        outcomes = at_once(
            *(lambda row=row: grants.end_grant(grant=row, by=world.lead, reason="Done.") for row in rows)
        )

        assert (kinds(outcomes), told("grant.ended")) == (["Grant", "Stale"], ["lead"])

    def test_wind_down(self, world, monkeypatch):
        rows = [fresh(world.project), fresh(world.project)]
        until = timezone.now() + timedelta(days=3)
        monkeypatch.setattr(projects, "_require_reason", Window().after(projects._require_reason))

        outcomes = at_once(
            *(
                lambda row=row: projects.wind_down(project=row, by=world.lead, reason="Done.", releases_at=until)
                for row in rows
            )
        )

        assert (kinds(outcomes), told("project.winding_down")) == (["Project", "Stale"], ["lead"])

    def test_the_last_signature_under_a_split(self, world, monkeypatch):
        split = splits.propose_split(
            by=world.ceo, starts_at=timezone.now() + timedelta(days=1), percents={"": {"research": 50}}
        )
        rows = [fresh(split), fresh(split)]
        monkeypatch.setattr(turns, "require_mandate", Window().after(turns.require_mandate))

        outcomes = at_once(
            lambda: splits.sign_split(split=rows[0], by=world.ceo),
            lambda: splits.sign_split(split=rows[1], by=world.ceo_apps),
        )

        assert kinds(outcomes) == ["Split", "Split"]
        assert (Split.objects.get(pk=split.pk).state, Event.objects.filter(verb="split.signed").count()) == (
            "signed",
            2,
        )

    def test_a_member_or_a_role_is_added_once(self, world, monkeypatch):
        monkeypatch.setattr(projects, "_join", Window().before(projects._join))
        monkeypatch.setattr(projects, "_open_admin_site", Window().before(projects._open_admin_site))
        roles = [world.role("ops"), world.role("ops")]
        rows = [fresh(world.project), fresh(world.project)]

        members = at_once(
            *(lambda row=row: projects.add_member(project=row, person=world.stranger, by=world.lead) for row in rows)
        )
        holders = at_once(
            *(lambda role=role: projects.give_role(role=role, person=world.stranger, by=world.admin) for role in roles)
        )

        assert (kinds(members), members[0]) == (["Membership", "Membership"], members[1])
        assert kinds(holders) == ["RoleHolder", "WrongState"]
        assert Membership.objects.filter(person=world.stranger).count() == 1
        assert RoleHolder.objects.filter(person=world.stranger).count() == 1

    def test_two_sets_of_terms_do_not_overlap(self, world, monkeypatch):
        monkeypatch.setattr(projects, "_not_before_now", Window().after(projects._not_before_now))
        day = timezone.now() + timedelta(days=2)
        rows = [fresh(world.project), fresh(world.project)]

        def set_terms(row, by, days):
            return lambda: projects.set_terms(
                project=row, by=by, guarantee_gpus=0, protected=True, quota_gpus=None, priority=0,
                starts_at=day + timedelta(days=days), reason="Because.",
            )  # fmt: skip

        outcomes = at_once(set_terms(rows[0], world.chief, 0), set_terms(rows[1], world.head, 1))

        assert kinds(outcomes) == ["ProjectTerms", "ProjectTerms"]
        first, second = ProjectTerms.objects.order_by("during")
        assert (first.during.upper, second.during.upper) == (second.during.lower, None)


class TestOutbox:
    def test_two_workers_at_once_share_the_messages(self, world, monkeypatch):
        submit(world)
        window = Window()
        monkeypatch.setattr(Mail, "_mail", window.after(Mail._mail))

        sent = at_once(outbox.deliver_due, outbox.deliver_due)

        assert (sent, window.met) == ([1, 1], True)  # neither waited for the other's row
        assert sorted(message.to[0] for message in mail.outbox) == [
            "chief-scientist@lab.example",
            "research-head@lab.example",
        ]
