"""By the API what the pages do: changes of grants, emergencies, loans, exceptions, terms, what came of a grant."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations.models import Grant, Loan, ProjectTerms, ResultCheck, SplitException
from tests import factories

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture
def post(client, lab):
    factories.fleet(gpus=100, per_node=10)
    factories.split()

    def posted(login, path, status, **said):
        client.force_login(lab.everyone[login])
        answer = client.post(f"/api/{path}/", said, content_type="application/json")
        assert answer.status_code == status, answer.content
        return answer.json()

    return posted


@pytest.fixture
def grant(lab):
    return factories.grant(lab.project, gpus=32)


def test_an_extension_is_asked_and_signed(client, lab, grant, post):
    change = post("lead", f"grants/{grant.public_id}/extend", 201, days=30, reason="One more run.")
    assert (change["kind"], change["state"], change["roles"]) == (
        "extend",
        "asked",
        ["chief-scientist", "research-head"],
    )
    post("lead", f"changes/{change['id']}/sign", 403, verdict="approve")
    post("chief-scientist", f"changes/{change['id']}/sign", 200, verdict="approve")
    told = post("research-head", f"changes/{change['id']}/sign", 200, verdict="approve")

    assert (told["state"], len(told["sign_offs"])) == ("approved", 2)
    assert Grant.objects.get().ends_at == grant.ends_at + 30 * DAY
    assert [row["id"] for row in client.get("/api/changes/").json()["results"]] == [change["id"]]


def test_a_smaller_grant_is_asked_answered_and_withdrawn(lab, grant, post):
    change = post("chief-scientist", f"grants/{grant.public_id}/change", 201, gpus=8, reason="Others wait.")
    told = post("lead", f"changes/{change['id']}/answer", 200, answer="objects", reason="Not now.")
    assert told["lead_answer"] == "objects"

    assert post("chief-scientist", f"changes/{change['id']}/withdraw", 200)["state"] == "withdrawn"


def test_an_emergency_says_until_when_it_is_ratified(lab, post):
    pitch = factories.submitted(lab.project, lab.pitcher)
    told = post("chief-scientist", f"pitches/{pitch.public_id}/emergency", 201, reason="The paper is due.")

    assert (told["is_emergency"], told["ratified_at"]) == (True, None)
    assert told["ratify_by"] is not None


def test_a_loan_is_proposed_agreed_and_given_back(lab, grant, post):
    now = timezone.now()
    said = {
        "lender": lab.project.slug, "borrower": lab.applied_project.slug, "model": "H100", "gpus": 8,
        "starts_at": now.isoformat(), "ends_at": (now + DAY).isoformat(), "reason": "You start later.",
    }  # fmt: skip
    too_many = post("applied-lead", "loans", 409, **{**said, "gpus": 99})
    # What a lender has is told to those who see its project.
    assert (too_many["code"], "free_gpus" in too_many) == ("over_capacity", False)
    loan = post("applied-lead", "loans", 201, **said)
    post("applied-lead", f"loans/{loan['id']}/answer", 403, agrees=True)
    assert post("lead", f"loans/{loan['id']}/answer", 200, agrees=True)["state"] == "agreed"
    assert post("applied-lead", f"loans/{loan['id']}/return", 200)["state"] == "returned"

    assert Loan.objects.count() == 1


def test_a_renewal_is_signed_by_those_who_sign_the_split(lab, grant, post):
    now = timezone.now()
    said = {
        "lender": lab.project.slug, "borrower": lab.applied_project.slug, "model": "H100", "gpus": 8,
        "reason": "You start later.",
    }  # fmt: skip
    times = [{"starts_at": (now + n * DAY).isoformat(), "ends_at": (now + (n + 1) * DAY).isoformat()} for n in (0, 1)]
    first = post("applied-lead", "loans", 201, **said, **times[0])
    post("lead", f"loans/{first['id']}/answer", 200, agrees=True)
    loan = post("applied-lead", "loans", 201, **said, **times[1])
    assert (loan["renews"], loan["roles"], loan["signatures"]) == (first["id"], ["ceo-applications", "ceo"], [])
    post("chief-scientist", f"loans/{loan['id']}/sign", 403)
    post("ceo", f"loans/{loan['id']}/sign", 200)
    assert post("lead", f"loans/{loan['id']}/answer", 200, agrees=True)["state"] == "proposed"

    told = post("ceo-applications", f"loans/{loan['id']}/sign", 200, role="ceo-applications")

    assert (told["state"], told["answered_by"]) == ("agreed", "lead")
    signed = [(each["role"], each["person"], each["deputy_for"]) for each in told["signatures"]]
    assert signed == [("ceo", "ceo", None), ("ceo-applications", "ceo-applications", None)]


def test_an_exception_is_proposed_and_signed_by_both(lab, post):
    now = timezone.now()
    row = post(
        "chief-scientist", "exceptions", 201, division="research", model="H100", gpus=8,
        starts_at=now.isoformat(), ends_at=(now + DAY).isoformat(), reason="May.",
    )  # fmt: skip
    post("chief-scientist", f"exceptions/{row['id']}/sign", 403)
    assert post("ceo", f"exceptions/{row['id']}/sign", 200)["state"] == "proposed"
    assert post("ceo-applications", f"exceptions/{row['id']}/sign", 200)["state"] == "signed"

    assert SplitException.objects.get().signatures.count() == 2


def test_terms_are_signed_and_a_quota_refuses_with_its_code(lab, post):
    now = timezone.now()
    told = post(
        "chief-scientist", f"projects/{lab.project.slug}/terms", 201, starts_at=now.isoformat(), quota_gpus=4,
        reason="Spring.",
    )  # fmt: skip
    assert (told["quota_gpus"], told["until"]) == (4, None)
    pitch = factories.pitch(lab.project, lab.pitcher, gpus=8)

    assert post("pitcher", f"pitches/{pitch.public_id}/submit", 409)["code"] == "over_quota"
    assert ProjectTerms.objects.count() == 1


def test_what_came_of_a_grant_is_said_once_it_was_asked(lab, grant, post):
    post("lead", f"grants/{grant.public_id}/result", 404, outcome="met", said="All of it.")
    ResultCheck.objects.create(grant=grant, asked_at=timezone.now())
    post("lead", f"grants/{grant.public_id}/result", 200, outcome="met", said="All of it.")

    assert ResultCheck.objects.get().outcome == "met"
