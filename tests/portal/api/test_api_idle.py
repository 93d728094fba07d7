"""Idle GPUs and quiet phases over the API: the same people, the same answers as on the pages."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import idle
from allocations.models import IdleCase, IdlePhase
from tests.allocations.idle.judged import MINUTE, held, judge

pytestmark = pytest.mark.django_db
JSON = "application/json"
SEES = {"pitcher", "team-mate", "lead", "chief-scientist", "research-head", "ceo", "ops", "auditor"}
WORKS = {"pitcher", "team-mate", "lead"}


@pytest.fixture
def case(lab):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug, since=timezone.now() - 61 * MINUTE)
    idle.tend()
    return IdleCase.objects.get()


def keep_body(**changes):
    return {"reason": "A checkpoint.", "until": (timezone.now() + timedelta(days=1)).isoformat()} | changes


def phase_body(lab, **changes):
    now = timezone.now()
    times = {"starts_at": now.isoformat(), "ends_at": (now + timedelta(days=1)).isoformat()}
    return {"project": lab.project.slug, "reason": "A demo waits."} | times | changes


def statuses(client, lab, call) -> dict[str, int]:
    found = {}
    for login, person in lab.everyone.items():
        client.force_login(person)
        found[login] = call().status_code
    return found


def expected(lab, may, sees, *, yes: int) -> dict[str, int]:
    return {login: yes if login in may else 403 if login in sees else 404 for login in lab.everyone}


def test_a_case_says_what_the_readings_showed(client, lab, case):
    client.force_login(lab.lead)

    [row] = client.get("/api/idle/").json()["results"]

    assert (row["project"], row["gpus"], row["state"], row["kept_by"]) == ("protein-folding", 2, "warned", None)
    assert [each["coverage_pct"] for each in row["evidence"]] == [100.0, 100.0]


def test_a_case_opens_for_those_who_see_the_project(client, lab, case):
    found = statuses(client, lab, lambda: client.get(f"/api/idle/{case.public_id}/"))

    assert found == expected(lab, SEES, SEES, yes=200)


def test_whoever_works_there_keeps_them(client, lab, case):
    body = keep_body()

    def call():
        answer = client.post(f"/api/idle/{case.public_id}/keep/", body, JSON)
        IdleCase.objects.filter(pk=case.pk).update(state="warned")
        return answer

    assert statuses(client, lab, call) == expected(lab, WORKS, SEES, yes=200)


@pytest.mark.parametrize(
    ("changes", "status"), [({"reason": ""}, 400), ({"until": "soon"}, 400), ({"until": "2001-01-01T00:00:00Z"}, 422)]
)
def test_what_does_not_fit_is_refused_and_keeps_nothing(client, lab, case, changes, status):
    client.force_login(lab.lead)

    answer = client.post(f"/api/idle/{case.public_id}/keep/", keep_body(**changes), JSON)

    case.refresh_from_db()
    assert (answer.status_code, case.state) == (status, "warned")


def test_lead_and_ops_say_that_a_project_will_be_quiet(client, lab):
    found = statuses(client, lab, lambda: client.post("/api/quiet-phases/", phase_body(lab), JSON))

    assert found == expected(lab, {"lead", "ops"}, SEES, yes=201)


def test_a_phase_is_listed_and_ended(client, lab):
    client.force_login(lab.lead)
    made = client.post("/api/quiet-phases/", phase_body(lab), JSON).json()

    listed = client.get("/api/quiet-phases/").json()["results"]
    gone = client.delete(f"/api/quiet-phases/{made['id']}/")

    assert ([row["id"] for row in listed], gone.status_code) == ([made["id"]], 204)
    assert client.get("/api/quiet-phases/").json()["results"] == []
    assert IdlePhase.objects.count() == 1
