"""The administration: open to who holds an administering role, and for no decision."""

from datetime import timedelta

import pytest
from django.contrib import admin
from django.urls import reverse
from django.utils import timezone
from knox.models import get_token_model

from allocations import rules
from allocations.models import Division, Person, Policy, Question, RoleHolder
from inventory.models import Event, GpuModel, Node
from tests import factories

pytestmark = pytest.mark.django_db

MODELS = sorted(
    (model for model in admin.site._registry if model._meta.app_label in ("allocations", "inventory")),
    key=lambda model: model._meta.label_lower,
)
WRITTEN_HERE = {"person", "division", "role", "policy", "gpumodel", "node", "noticepreference", "question", "holiday",
                "headcount", "unixaccount", "idlepolicy"}  # fmt: skip


def address(model, page, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


@pytest.fixture
def desk(lab, client):
    """The browser of somebody who administers."""
    lab.admin.is_staff = True
    lab.admin.save()
    client.force_login(lab.admin)
    return client


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.model_name)
def test_every_list_opens_and_only_what_admins_own_can_be_written(lab, desk, model):
    factories.grant(lab.project)
    row = factories.assignment(factories.node(gpus=1).gpus.get(), lab.project)
    writable = model._meta.model_name in WRITTEN_HERE
    may_add = writable or model is RoleHolder

    assert desk.get(address(model, "changelist")).status_code == 200
    assert desk.get(address(model, "add")).status_code == (200 if may_add else 403)
    some = model._default_manager.first()
    if some is not None:
        page = desk.get(address(model, "change", some.pk))
        deleted = desk.post(address(model, "delete", some.pk), {"post": "yes"})
        assert (page.status_code, b'name="_save"' in page.content, deleted.status_code) == (200, writable, 403)
    row.refresh_from_db()


@pytest.mark.parametrize("login", ["ceo", "ops", "auditor", "stranger"])
def test_nobody_else_gets_in_even_past_the_door(lab, client, login):
    person = lab.everyone[login]
    person.is_staff = True
    person.save()
    client.force_login(person)

    assert client.get(address(Person, "changelist")).status_code == 403
    assert client.post(address(Division, "add"), {"slug": "x", "name": "X"}).status_code == 403
    assert Division.objects.count() == 2


def test_a_role_that_has_ended_opens_nothing(lab, desk):
    RoleHolder.objects.filter(person=lab.admin).update(during=(factories.LONG_AGO, timezone.now()))

    assert desk.get(address(Person, "changelist")).status_code == 403


def test_a_change_is_an_event_with_before_and_after(lab, desk):
    model = factories.model(tdp_w=700)

    desk.post(address(GpuModel, "change", model.pk), {"name": "H100", "memory_mib": model.memory_mib, "tdp_w": 650})

    event = Event.objects.get(verb="gpumodel.changed")
    assert (event.actor, event.facts) == ("admin", {"changed": {"tdp_w": [700, 650]}})


def test_a_policy_is_recorded_with_its_roles(lab, desk):
    form = {
        "subject": "pitch", "division": lab.applied.pk, "min_gpus": 64, "min_gpu_hours": "",
        "during_0_0": "", "during_0_1": "", "during_0": "2027-01-01 00:00", "during_1": "",
        "named_roles-TOTAL_FORMS": 1, "named_roles-INITIAL_FORMS": 0, "named_roles-0-role": lab.role("ceo").pk,
        "named_roles-0-position": 0, "counts_from": "start",
    }  # fmt: skip

    desk.post(address(Policy, "add"), form)

    assert Event.objects.get(verb="policy.roles").facts == {"roles": ["ceo"]}
    assert Policy.objects.filter(division=lab.applied, min_gpus=64).count() == 1


POLICY = {
    "subject": "pitch", "division": "", "min_gpus": 0, "min_gpu_hours": "", "during_0": "2027-01-01 00:00",
    "during_1": "", "counts_from": "start", "named_roles-TOTAL_FORMS": 1, "named_roles-INITIAL_FORMS": 0,
    "named_roles-0-position": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({}, "Name a role that signs: a policy without one lets nothing through."),
        ({"role": "ops"}, "Ops does not decide; name a role that does."),
        ({"role": "ceo", "min_gpus": 64, "max_gpus": 63}, "Nothing is from 64 up to this."),
        ({"role": "ceo", "is_fast_lane": "on"}, "A fast lane has a cap for a project and month."),
        ({"role": "ceo", "is_fast_lane": "on", "cap_gpu_hours": 9, "over_share": "on"}, "takes no fast lane"),
        ({"role": "ceo", "subject": "split", "over_share": "on"}, "Only for pitches."),
    ],
)
def test_a_policy_that_names_nobody_or_fits_nothing_is_refused(lab, desk, typed, told):
    before, role = Policy.objects.count(), typed.get("role")
    named = {"named_roles-0-role": lab.role(role).pk} if role else {}

    page = desk.post(address(Policy, "add"), POLICY | typed | named)

    assert (Policy.objects.count(), told in page.content.decode()) == (before, True)


def test_a_question_has_the_words_to_choose_from_one_a_line(lab, desk):
    form = {"text": "Data?", "kind": "choice", "position": 1, "choices": "", "division": lab.research.pk}
    refused = desk.post(address(Question, "add"), form)
    desk.post(address(Question, "add"), form | {"choices": " Public \n\nLicensed\nPublic"})

    question = Question.objects.get()
    page = desk.get(address(Question, "change", question.pk)).content.decode()
    assert "Give the words to choose from." in refused.content.decode()
    assert (question.choices, "Public\nLicensed" in page) == (["Public", "Licensed"], True)


def test_a_role_is_given_and_ended_through_the_services(lab, desk):
    form = {"role": lab.role("ops").pk, "person": lab.stranger.pk, "until_0": "", "until_1": ""}
    desk.post(address(RoleHolder, "add"), form)
    assert rules.holds(lab.stranger, "ops") is True
    held = RoleHolder.objects.get(person=lab.stranger)

    desk.get(address(RoleHolder, "changelist"))  # shows the message of the first one
    refused = desk.post(address(RoleHolder, "add"), form, follow=True)
    desk.post(address(RoleHolder, "changelist"), {"action": "end_roles", "_selected_action": [held.pk]})

    assert [str(message) for message in refused.context["messages"]] == ["stranger holds Ops already."]
    assert rules.holds(lab.stranger, "ops") is False
    assert list(
        Event.objects.filter(verb__startswith="role.", facts__person="stranger").values_list("verb", flat=True)
    ) == [
        "role.ended",
        "role.given",
    ]


def test_an_administrator_makes_no_superuser_and_changes_none(lab, desk):
    root = factories.person("root", is_superuser=True)
    form = {"username": "stranger", "is_active": "on", "is_superuser": "on", "email": "s@lab.example"}

    desk.post(address(Person, "change", lab.stranger.pk), form)
    page = desk.get(address(Person, "change", root.pk))
    password = desk.post(
        reverse("admin:auth_user_password_change", args=[root.pk]),
        {"password1": "a-long-new-password", "password2": "a-long-new-password", "usable_password": "true"},
    )

    lab.stranger.refresh_from_db()
    assert (lab.stranger.email, lab.stranger.is_superuser) == ("s@lab.example", False)
    assert (b'name="_save"' in page.content, password.status_code) == (False, 403)


def test_a_password_that_was_set_is_in_the_trail_but_not_what_it_is(lab, desk):
    get_token_model().objects.create(lab.stranger)

    desk.post(
        reverse("admin:auth_user_password_change", args=[lab.stranger.pk]),
        {"password1": "a-long-new-password", "password2": "a-long-new-password", "usable_password": "true"},
    )

    event = Event.objects.get(verb="person.password_set")
    lab.stranger.refresh_from_db()
    assert get_token_model().objects.count() == 0
    assert lab.stranger.check_password("a-long-new-password") is True
    assert (event.actor, event.subject_label, event.facts) == ("admin", "stranger", {})


def test_somebody_new_is_added_without_the_password_in_the_trail(lab, desk):
    desk.post(
        address(Person, "add"),
        {
            "username": "new", "password1": "a-long-new-password", "password2": "a-long-new-password",
            "usable_password": "true",
        },
    )  # fmt: skip

    event = Event.objects.get(verb="person.added", subject_label="new")
    assert "a-long-new-password" not in str(event.facts)
    assert rules.roles_of(Person.objects.get(username="new")) == []


@pytest.mark.parametrize("name", ["rack-1/a", "..", "."])
def test_a_node_has_a_name_that_its_page_can_be_addressed_by(lab, desk, name):
    typed = {"name": name, "model": factories.model("H100").pk, "expected_gpus": 8, "driver": "agent", "labels": "{}"}

    page = desk.post(address(Node, "add"), typed)

    assert (page.status_code, Node.objects.count()) == (200, 0)
    assert list(page.context["adminform"].form.errors) == ["name"]


def test_a_role_given_for_a_time_ends_by_itself(lab, desk, time_machine):
    tomorrow = timezone.now() + timedelta(days=1)
    desk.post(
        address(RoleHolder, "add"),
        {"role": lab.role("ops").pk, "person": lab.stranger.pk, "until_0": tomorrow.date(), "until_1": "23:00"},
    )
    assert rules.holds(lab.stranger, "ops") is True

    time_machine.move_to(tomorrow + timedelta(days=1))

    assert rules.holds(lab.stranger, "ops") is False
