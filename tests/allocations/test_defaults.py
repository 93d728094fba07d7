"""What ships: installed once, and never over what a lab has made of it."""

import pytest
from django.core.management import call_command

from allocations import defaults
from allocations.models import Division, Policy, Role
from inventory.models import Event

pytestmark = pytest.mark.django_db


def test_a_new_lab_gets_divisions_roles_and_policies(capsys):
    call_command("install_defaults")

    assert capsys.readouterr().out == "2 divisions, 7 roles, 4 policies added\n"
    assert sorted(Role.objects.values_list("slug", "division__slug", "power")) == [
        ("admin", None, "administer"),
        ("auditor", None, "audit"),
        ("ceo", None, "decide"),
        ("ceo-applications", "applied", "decide"),
        ("chief-scientist", "research", "decide"),
        ("ops", None, "operate"),
        ("research-head", "research", "decide"),
    ]
    named = {
        (policy.subject, policy.division and policy.division.slug, policy.min_gpus): sorted(
            policy.roles.values_list("slug", flat=True)
        )
        for policy in Policy.objects.all()
    }
    assert named == {
        ("pitch", "research", 0): ["chief-scientist", "research-head"],
        ("pitch", "applied", 0): ["ceo-applications"],
        ("pitch", None, 1024): ["ceo", "ceo-applications"],
        ("split", None, 0): ["ceo", "ceo-applications"],
    }
    assert Event.objects.count() == 13


def test_a_repeat_changes_nothing_of_what_the_lab_has_made_of_it():
    defaults.install()
    Division.objects.filter(slug="applied").update(name="Products")
    Policy.objects.filter(min_gpus=1024).update(min_gpus=64)
    Role.objects.get(slug="research-head")

    added = defaults.install()

    assert added == {"divisions": 0, "roles": 0, "policies": 0}
    assert (Division.objects.get(slug="applied").name, Policy.objects.filter(min_gpus=64).count()) == ("Products", 1)
    assert Event.objects.count() == 13
