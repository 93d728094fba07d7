"""Decisions: nobody decides an own ask by any way, nothing lapses by itself, and what was decided stays readable."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, Permission
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from guardian.shortcuts import assign_perm

from allocations import outbox, projects, tasks
from allocations.models import Deputy, Grant, SignOff
from tests import factories
from tests.allocations.acts import submit
from tests.cases.acts import fresh, page_of, pressed

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
JSON = "application/json"
REASON = "The other run shows that it cannot work."


class Down(EmailBackend):
    """A mail server that is out."""

    def open(self):
        raise OSError("nobody answers")


class TestOwnPitch:
    @pytest.fixture
    def own(self, world, noon):
        """The chief scientist works in the project and has pitched for it; a fellow could sign."""
        factories.member(world.project, world.chief)
        factories.holder("chief-scientist", "second-chief")
        return submit(world, by=world.chief)

    @pytest.mark.parametrize("door", ["page", "api"])
    @pytest.mark.parametrize("way", ["role", "both roles", "deputy", "group", "admin", "superuser", "lead"])
    def test_nobody_approves_it_by_any_way(self, world, client, own, way, door):
        """teleport#13416, google/grr#389: own asks were approved through a group, as an admin, for somebody else."""
        chief, role = world.chief, "chief-scientist"
        if way == "both roles":
            role = "research-head"
            factories.holder(role, who=chief)
        elif way == "deputy":
            role = "research-head"
            Deputy.objects.create(
                principal=world.head,
                deputy=chief,
                role=world.role(role),
                during=(factories.LONG_AGO, None),
                set_by=world.head,
            )
        elif way == "group":
            group = Group.objects.create(name="approvers")
            group.permissions.set(Permission.objects.all())
            assign_perm("lead_project", group, world.project)
            chief.groups.add(group)
        elif way == "admin":
            factories.holder("admin", who=chief)
        elif way == "superuser":
            chief.is_superuser = chief.is_staff = True
            chief.save()
        elif way == "lead":
            projects.set_lead(project=world.project, person=chief, by=world.lead)

        answer = pressed(client, chief, own, role, door)

        assert answer.status_code == 403
        assert (fresh(own).state, SignOff.objects.count()) == ("submitted", 0)

    def test_two_chief_scientists_are_not_a_chief_scientist_and_a_research_head(self, world, client, noon):
        """gravitational/teleport#36854: one of each, whoever presses, in whatever role they say."""
        second = factories.holder("chief-scientist", "second-chief")
        pitch = submit(world)
        pressed(client, world.chief, pitch, "chief-scientist")

        answers = [pressed(client, second, pitch, role).status_code for role in ("chief-scientist", "research-head")]

        assert answers == [409, 403]
        assert (fresh(pitch).state, SignOff.objects.count(), Grant.objects.count()) == ("submitted", 1, 0)


def test_who_reviews_needs_no_superuser(world, client, noon):
    """coldfront#607: the role alone opens the queue, the desk and the signature, and not the admin site."""
    pitch = submit(world)
    looks = []
    for who, role in ((world.chief, "chief-scientist"), (world.head, "research-head")):
        looks += [page_of(client, who, name).status_code for name in ("queue", "desk", "trail")]
        assert pressed(client, who, pitch, role).status_code == 302
        looks.append(client.get("/admin/").status_code)

    assert looks == [200, 200, 200, 302] * 2
    assert not {(who.is_superuser, who.is_staff) for who in (world.chief, world.head)} - {(False, False)}
    assert fresh(pitch).state == "granted"


def test_a_decision_stands_while_the_mail_server_is_down_and_the_mail_leaves_later_once(
    world, client, settings, noon, time_machine
):
    """Mail server down: the approver sees no error."""
    settings.EMAIL_BACKEND = f"{__name__}.Down"
    pitch = submit(world)
    answers = [
        pressed(client, world.chief, pitch, "chief-scientist").status_code,
        pressed(client, world.head, pitch, "research-head").status_code,
    ]
    for hour in range(24):
        time_machine.move_to(noon + timedelta(hours=hour), tick=False)
        tasks.deliver()
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    time_machine.move_to(noon + 2 * DAY, tick=False)

    assert (answers, fresh(pitch).state, len(mail.outbox)) == ([302, 302], "granted", 0)
    assert (outbox.deliver_due(), outbox.deliver_due()) == (3, 0)
    assert sorted(letter.to[0].partition("@")[0] for letter in mail.outbox) == [
        "chief-scientist", "pitcher", "research-head"
    ]  # fmt: skip
