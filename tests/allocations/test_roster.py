"""The roster check: roles that somebody must hold, and nobody does or soon will."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import queries
from allocations.models import RoleHolder
from tests import factories

pytestmark = pytest.mark.django_db


def vacancies() -> list[tuple[str, str | None]]:
    return [(each.role.slug, each.last and each.last.username) for each in queries.roles_without_holder()]


def held_until(lab, slug, until) -> None:
    row = RoleHolder.objects.get(role__slug=slug)
    row.during = (row.during.lower, until)
    row.save()


def test_a_lab_whose_roles_are_held_has_no_vacancy(lab, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert vacancies() == []


@pytest.mark.parametrize("slug", ["chief-scientist", "ceo", "ops"])
def test_a_role_that_nobody_holds_is_vacant(lab, slug):
    """MCKRUZ/microsoft-agentic-harness#393."""
    held_until(lab, slug, timezone.now())

    assert vacancies() == [(slug, None)]


def test_a_closed_account_holds_nothing(lab):
    lab.chief.is_active = False
    lab.chief.save()

    assert vacancies() == [("chief-scientist", None)]


def test_the_last_holder_who_leaves_within_a_week_is_named(lab):
    factories.holder("chief-scientist", "first-to-go", until=timezone.now() + timedelta(days=2))
    RoleHolder.objects.filter(person=lab.chief).update(during=(factories.LONG_AGO, timezone.now() + timedelta(days=3)))

    assert vacancies() == [("chief-scientist", "chief-scientist")]


def test_who_leaves_later_or_has_a_successor_is_no_vacancy(lab):
    soon = timezone.now() + timedelta(days=3)
    held_until(lab, "ceo", timezone.now() + timedelta(days=30))
    held_until(lab, "chief-scientist", soon)
    factories.holder("chief-scientist", "successor", since=soon)

    assert vacancies() == []


def test_roles_that_no_policy_names_and_that_move_nothing_may_stay_empty(lab):
    held_until(lab, "auditor", timezone.now())
    factories.holder("ops", "second-ops")

    assert vacancies() == []
