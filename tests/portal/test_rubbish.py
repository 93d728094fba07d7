"""Rubbish in an address or a form is a person's slip or somebody's attempt: a refusal, never a broken page."""

import pytest
from django.urls import reverse
from django.utils import timezone

from allocations.models import Pitch, Project, Split
from inventory.models import Cordon
from portal.middleware import POLICY
from tests import factories

LAST_OF_ALL = "9999-12-31"
FIRST_OF_ALL = "0001-01-01"


@pytest.mark.parametrize(
    "address",
    [
        "/grants/?project=%00",
        "/pitches/?project=a%00b",
        "/pitches/new/?project=%00",
        "/jump/?q=%00",
        "/fleet/?as=table&node=%00",
        "/nodes/%00/",
        "/healthz?%00",
    ],
)
def test_a_nul_in_an_address_is_a_bad_request_with_its_page(client, lab, address):
    client.force_login(lab.ops)

    answer = client.get(address)

    assert (answer.status_code, answer.headers["Content-Security-Policy"]) == (400, POLICY)


@pytest.mark.parametrize("key", ["9" * 5000, "²", "-1", "1.5", str(2**63)], ids=str.__len__)
def test_a_key_that_is_none_begins_at_the_newest(client, lab, key):
    pitch = factories.pitch(project=lab.project, pitcher=lab.pitcher)
    client.force_login(lab.pitcher)

    page = client.get("/pitches/", {"before": key}).context["page"]

    assert (page.rows, page.is_later) == ([pitch], False)


@pytest.mark.parametrize("day", [LAST_OF_ALL, FIRST_OF_ALL, "2026-02-30"])
def test_the_outlook_of_a_day_out_of_reach_is_no_outlook(client, lab, day):
    ask = {"project": lab.project.pk, "model": factories.model("H100").pk, "ideal_gpus": 1, "min_gpus": 1, "days": 9}
    client.force_login(lab.pitcher)

    answer = client.get(reverse("pitch_outlook"), {**ask, "start_on": day})

    assert (answer.status_code, answer.context["outlook"]) == (200, None)


@pytest.mark.parametrize("day", [LAST_OF_ALL, FIRST_OF_ALL])
@pytest.mark.parametrize("field", ["start_on", "check_on"])
def test_a_day_out_of_reach_is_no_draft_and_stays_typed(client, lab, day, field):
    typed = {
        "project": lab.project.pk, "model": factories.model("H100").pk, "ideal_gpus": 1, "min_gpus": 1, "days": 9,
        "title": "Ever after", "why": "Why not", "start_on": "2026-12-24",
    }  # fmt: skip
    client.force_login(lab.pitcher)

    answer = client.post(reverse("pitch_new"), {**typed, field: day})

    assert (answer.status_code, Pitch.objects.count()) == (422, 0)
    assert list(answer.context["form"].errors) == [field]
    assert f'value="{day}"' in answer.content.decode()


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize("day", [LAST_OF_ALL, FIRST_OF_ALL])
def test_no_decision_is_dated_out_of_reach(client, lab, settings, zone, day):
    settings.SITE_TIME_ZONE = zone
    node = factories.node("gpu-9.lab")
    percents = {"p-all-research": "50", "p-all-applied": "50"}
    wound = {"wind-reason": "Done", "wind-releases_on": day}
    doors = [
        (lab.ops, reverse("node_cordon", args=[node.name]), {"reason": "Fan", "until_on": day}),
        (lab.lead, reverse("project_wind_down", args=[lab.project.slug]), wound),
        (lab.ceo, reverse("split_propose"), {"reason": "New year", "starts_on": day, **percents}),
        (lab.ceo, reverse("split_propose"), {"reason": "New year", "starts_on": day, **percents, "do": "look"}),
    ]  # fmt: skip

    statuses = []
    for person, address, typed in doors:
        client.force_login(person)
        statuses.append(client.post(address, typed).status_code)

    assert statuses == [422, 422, 422, 200]
    written = Cordon.objects.count() + Split.objects.count() + Project.objects.exclude(state="active").count()
    assert written == 0


@pytest.mark.parametrize("role", ["\0", "", "no-such-role", "é"])
def test_a_split_is_not_signed_for_a_role_that_is_none(client, lab, role):
    split = factories.split(state=Split.State.PROPOSED, starts_at=timezone.now())
    split.roles.set([lab.role("ceo"), lab.role("ceo-applications")])
    client.force_login(lab.ceo)

    answer = client.post(reverse("split_sign", args=[split.public_id]), {"role": role})

    assert (answer.status_code, split.signatures.count()) == (404, 0)


def test_nobody_becomes_a_nul(client, lab, settings):
    settings.DEMO = True

    assert client.post(reverse("become"), {"login": "\0"}).status_code == 404


@pytest.mark.parametrize("address", ["/pitches", "/no/such/page", "/static/none.css"])
def test_what_the_server_answers_by_itself_has_the_policy_too(client, lab, address):
    client.force_login(lab.pitcher)

    assert client.get(address).headers["Content-Security-Policy"] == POLICY


def test_a_foreign_host_is_refused_under_the_policy(client, db):
    answer = client.get("/", headers={"host": "evil.example"})

    assert (answer.status_code, answer.headers["Content-Security-Policy"]) == (400, POLICY)


@pytest.mark.django_db
@pytest.mark.parametrize("named", ["9" * 30, "9" * 5000, "\0", "-1"])
def test_a_project_that_is_no_number_of_one_has_no_questions(client, lab, named):
    client.force_login(lab.pitcher)

    assert client.post(reverse("pitch_questions"), {"project": named}).status_code == 200
    assert client.post(reverse("pitch_autosave"), {"project": named}).status_code == 422


@pytest.mark.django_db
@pytest.mark.parametrize("named", ["\\u0000", "a\\u0000b", "\\ud800"])
@pytest.mark.parametrize("field", ["division", "model", "reason", "\\u0000"])
def test_the_api_refuses_letters_that_no_text_can_hold(client, lab, field, named):
    client.force_login(lab.chief)
    body = f'{{"{field}": "{named}"}}'

    answer = client.post("/api/exceptions/", body, content_type="application/json")

    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert answer.json()["code"] == "parse_error"
