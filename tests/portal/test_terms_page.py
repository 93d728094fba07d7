"""Terms of a project are signed on its page by those who decide for its division; the history stays."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations.models import ProjectTerms
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def said():
    return {
        "terms-starts_on": timezone.now().date() + timedelta(days=1), "terms-ends_on": "",
        "terms-guarantee_gpus": 8, "terms-quota_gpus": 64, "terms-priority": 2, "terms-protected": "on",
        "terms-reason": "The spring run.",
    }  # fmt: skip


def post(client, person, project, said):
    client.force_login(person)
    return client.post(f"/projects/{project.slug}/terms/", said)


def test_a_decider_signs_them(client, lab, said):
    assert post(client, lab.chief, lab.project, said).status_code == 302

    terms = ProjectTerms.objects.get()
    assert (terms.guarantee_gpus, terms.quota_gpus, terms.priority, terms.protected) == (8, 64, 2, True)
    assert "The spring run." in client.get(f"/projects/{lab.project.slug}/").content.decode()


@pytest.mark.parametrize("login", ["lead", "ops", "admin"])
def test_nobody_else_does(client, lab, said, login):
    answer = post(client, lab.everyone[login], lab.project, said)

    assert answer.status_code in (403, 404)
    assert not ProjectTerms.objects.exists()


def test_a_guarantee_above_the_quota_is_refused_with_what_was_typed(client, lab, said):
    answer = post(client, lab.chief, lab.project, {**said, "terms-guarantee_gpus": 99})

    assert answer.status_code == 422
    assert "The spring run." in answer.content.decode()


def test_more_guaranteed_than_the_share_is_said_to_those_who_decide(client, lab):
    factories.fleet(gpus=10)
    factories.split()
    factories.terms(lab.project, guarantee_gpus=9)
    client.force_login(lab.chief)

    assert (
        "guarantees 9 GPUs to its projects and has a share of 6"
        in client.get(f"/projects/{lab.project.slug}/").content.decode()
    )
