"""What waits for somebody on the home page besides pitches: changes of grants, exceptions, loans, results."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from allocations import changes, exceptions, loans, pitches
from allocations.models import ResultCheck
from tests import factories


@pytest.fixture
def grant(lab):
    factories.fleet(gpus=64)
    factories.split()
    now = timezone.now()
    return factories.grant(lab.project, gpus=16, starts_at=now - timedelta(days=3), ends_at=now + timedelta(days=30))


def home(client, person) -> list[tuple[str, str, str]]:
    client.force_login(person)
    rows = client.get(reverse("home")).context["waiting"]
    return [(row.text, row.button, row.address) for row in rows]


def test_an_extension_waits_for_those_who_sign_it(client, lab, grant):
    changes.ask_extension(grant=grant, by=lab.lead, days=14, reason="Two more sizes.")

    row = ("Extension", "Sign", reverse("grant", args=[grant.public_id]))
    assert [row in home(client, person) for person in (lab.chief, lab.head, lab.lead, lab.ceo_apps)] == [
        True, True, False, False,
    ]  # fmt: skip


def test_a_smaller_grant_waits_for_the_leads_answer(client, lab, grant):
    changes.ask_change(grant=grant, by=lab.chief, gpus=8, reason="The split changed.")

    assert ("Fewer GPUs", "Answer", reverse("grant", args=[grant.public_id])) in home(client, lab.lead)


def test_an_exception_waits_for_both_ceos_until_each_has_signed(client, lab, grant):
    now = timezone.now()
    row = exceptions.propose_exception(
        by=lab.ceo, division=lab.research, model=grant.model, gpus=4, starts_at=now, ends_at=now + timedelta(days=9),
        reason="The review.",
    )  # fmt: skip
    shown = ("4 H100 above the split", "Look and sign", reverse("split"))
    assert [shown in home(client, person) for person in (lab.ceo, lab.ceo_apps, lab.chief)] == [True, True, False]

    exceptions.sign_exception(exception=row, by=lab.ceo)

    assert [shown in home(client, person) for person in (lab.ceo, lab.ceo_apps)] == [False, True]


def test_a_loan_waits_for_the_lenders_lead(client, lab, grant):
    now = timezone.now()
    loan = loans.propose_loan(
        by=lab.applied_lead, lender=lab.project, borrower=lab.applied_project, model=grant.model, gpus=4,
        starts_at=now, ends_at=now + timedelta(days=7), reason="A demo.",
    )  # fmt: skip

    row = ("Lend 4 H100", "Answer", reverse("loan", args=[loan.public_id]))
    assert [row in home(client, person) for person in (lab.lead, lab.applied_lead)] == [True, False]


def test_a_result_that_nobody_told_waits_for_the_lead(client, lab, grant):
    ResultCheck.objects.create(grant=grant, asked_at=timezone.now())

    row = ("Did it come out as expected?", "Say", reverse("grant", args=[grant.public_id]))
    assert [row in home(client, person) for person in (lab.lead, lab.stranger)] == [True, False]


def test_changes_that_were_asked_for_wait_with_their_deadline(client, lab, grant):
    pitch = factories.submitted(lab.project, lab.pitcher)
    pitches.sign_off(
        pitch=pitch, by=lab.chief, role=lab.role("chief-scientist"), verdict="changes", round=1, reason="The baseline?"
    )
    client.force_login(lab.pitcher)

    [row] = [row for row in client.get(reverse("home")).context["waiting"] if row.button == "Change it"]

    assert (row.text, row.due) == (pitch.title, pitch.answer_due_at)
    assert "That is due by" in client.get(reverse("pitch", args=[pitch.public_id])).content.decode()
