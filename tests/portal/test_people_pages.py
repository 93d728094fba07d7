"""People on the pages: the list, what is somebody's, letting somebody go, members and leads of a project."""

import pytest
from django.urls import reverse

from allocations.models import HeadCount, Person
from tests import factories

EVERYBODY = ("pitcher", "stranger", "chief-scientist", "ceo", "ops", "auditor", "admin")


@pytest.fixture
def admin(client, lab):
    client.force_login(lab.admin)
    return client


def test_the_pages_open_for_those_who_administer(client, lab):
    found = {}
    for login in EVERYBODY:
        client.force_login(lab.everyone[login])
        one = reverse("person", args=[lab.lead.pk])
        found[login] = (client.get(reverse("people")).status_code, client.get(one).status_code)

    assert found == {login: (200, 200) if login == "admin" else (403, 403) for login in EVERYBODY}


@pytest.mark.parametrize("count", [1, 3])
def test_the_list_and_a_person_cost_the_same_with_one_row_and_with_three(
    admin, lab, django_assert_max_num_queries, count
):
    for number in range(count):
        person = factories.person(f"new-{number}")
        project = factories.project(division=lab.research, lead=lab.lead, members=[person])
        factories.grant(project)
        factories.submitted(project, lab.lead)
    HeadCount.objects.create(division=lab.research, starts_on="2026-01-01", people=40)
    for address in (reverse("people"), reverse("person", args=[lab.lead.pk])):
        admin.get(address)
        with django_assert_max_num_queries(20):
            answer = admin.get(address)
        assert answer.status_code == 200


def test_the_list_is_searched_by_words_of_names_and_logins(admin, lab):
    factories.person("zoe", first_name="Zoe", last_name="Adler")

    found = [row.username for row, _roles in admin.get(reverse("people"), {"q": "adler zoe"}).context["rows"]]

    assert found == ["zoe"]


def test_letting_go_keeps_what_was_typed_until_somebody_is_named(admin, lab):
    address = reverse("person_let_go", args=[lab.lead.pk])

    refused = admin.post(address, {"reason": "Left for a university."})
    done = admin.post(address, {"reason": "Left.", f"lead-{lab.project.pk}": lab.team_mate.pk})

    assert (refused.status_code, "Left for a university." in refused.content.decode()) == (422, True)
    assert (done.status_code, done.headers["Location"]) == (302, reverse("person", args=[lab.lead.pk]))
    lab.lead.refresh_from_db(), lab.project.refresh_from_db()
    assert (lab.lead.is_active, lab.project.lead) == (False, lab.team_mate)
    page = admin.get(reverse("person", args=[lab.lead.pk])).content.decode()
    assert "Hand over and close" not in page


def test_a_draft_on_the_page_does_not_say_what_it_says(admin, lab):
    factories.pitch(lab.project, lab.lead, title="A secret idea")

    page = admin.get(reverse("person", args=[lab.lead.pk])).content.decode()

    assert "A draft" in page
    assert "A secret idea" not in page


def test_the_lead_adds_and_removes_members_and_names_another_lead(client, lab):
    client.force_login(lab.lead)

    client.post(reverse("member_add", args=[lab.project.slug]), {"username": "stranger"})
    assert lab.project.memberships.filter(person=lab.stranger, during__endswith=None).exists()
    client.post(reverse("member_end", args=[lab.project.slug, lab.stranger.pk]))
    assert not lab.project.memberships.filter(person=lab.stranger, during__endswith=None).exists()
    client.post(reverse("lead_set", args=[lab.project.slug]), {"person": lab.team_mate.pk})

    lab.project.refresh_from_db()
    assert lab.project.lead == lab.team_mate


def test_a_login_that_nobody_has_is_said(client, lab):
    client.force_login(lab.lead)

    answer = client.post(reverse("member_add", args=[lab.project.slug]), {"username": "nobody"}, follow=True)

    assert "Nobody has the login nobody." in answer.content.decode()


def test_a_member_sees_no_buttons_and_gets_none_done(client, lab):
    client.force_login(lab.pitcher)

    page = client.get(reverse("project", args=[lab.project.slug])).content.decode()
    tried = client.post(reverse("member_add", args=[lab.project.slug]), {"username": "stranger"})

    assert ("Add a member" in page, tried.status_code) == (False, 403)
    assert Person.objects.get(username="stranger").memberships.count() == 0
