"""A renewal of a loan on the pages: who must still agree, who signs where, what the lead may still say."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from allocations import loans
from allocations.models import Loan
from tests import factories

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture
def renewal(lab):
    factories.fleet(gpus=100, per_node=10)
    factories.split()
    factories.grant(lab.project, gpus=40, ends_at=timezone.now() + 60 * DAY)
    said = {
        "by": lab.applied_lead, "lender": lab.project, "borrower": lab.applied_project, "model": factories.model(),
        "gpus": 4, "reason": "A demo.",
    }  # fmt: skip
    now = timezone.now()
    first = loans.propose_loan(starts_at=now, ends_at=now + 7 * DAY, **said)
    loans.answer_loan(loan=first, by=lab.lead, agrees=True)
    return loans.propose_loan(starts_at=now + 7 * DAY, ends_at=now + 14 * DAY, **said)


@pytest.fixture
def page(client, lab):
    def seen(login, path):
        client.force_login(lab.everyone[login])
        return client.get(path).content.decode()

    return seen


@pytest.fixture
def post(client, lab):
    def posted(login, loan, act, **said):
        client.force_login(lab.everyone[login])
        return client.post(f"/loans/{loan.public_id}/{act}/", said)

    return posted


def test_the_page_says_who_must_still_agree_and_offers_the_field_that_is_due(renewal, page, post):
    path = f"/loans/{renewal.public_id}/"
    text = page("ceo", path)
    assert text.count("not signed yet") == 1
    assert (text.count("Sign as"), "Sign as CEO" in text) == (1, True)
    assert "The loan that it renews" in text
    assert "Sign as" not in page("lead", path)

    assert post("ceo", renewal, "sign", role="ceo").status_code == 302
    assert "Sign as" not in page("ceo", path)
    assert post("lead", renewal, "answer", agrees="yes").status_code == 302
    text = page("lead", path)
    assert "you may still decline" in text
    assert 'value="yes"' not in text

    assert post("ceo-applications", renewal, "sign", role="ceo-applications").status_code == 302
    assert Loan.objects.get(pk=renewal.pk).state == "agreed"


def test_it_waits_on_the_home_of_those_who_sign_until_each_has(client, lab, renewal, page, post):
    def waits(login):
        client.force_login(lab.everyone[login])
        rows = [(row.text, row.address) for row in client.get("/").context["waiting"]]
        return ("Lend 4 H100 on", reverse("loan", args=[renewal.public_id])) in rows

    assert [waits(login) for login in ("ceo", "ceo-applications", "chief-scientist")] == [True, True, False]
    assert "Waits for your signature" in page("ceo", "/loans/")
    post("ceo", renewal, "sign", role="ceo")

    assert [waits(login) for login in ("ceo", "ceo-applications")] == [False, True]
    assert "Waits for your signature" not in page("ceo", "/loans/")


def test_the_lead_is_asked_once(renewal, page, post):
    assert "Waits for your answer" in page("lead", "/loans/")
    post("lead", renewal, "answer", agrees="yes")

    assert "Waits for your answer" not in page("lead", "/loans/")


@pytest.mark.parametrize(("login", "status"), [("lead", 403), ("chief-scientist", 403), ("stranger", 404)])
def test_nobody_else_signs(renewal, post, login, status):
    assert post(login, renewal, "sign", role="ceo").status_code == status


def test_a_refused_signature_says_why_and_shows_the_loan(client, lab, renewal):
    loans.sign_loan(loan=renewal, by=lab.ceo)
    client.force_login(factories.holder("ceo", "second-ceo"))

    answer = client.post(f"/loans/{renewal.public_id}/sign/", {"role": "ceo"})

    assert answer.status_code == 409
    assert "ceo has signed as CEO already." in answer.content.decode()
