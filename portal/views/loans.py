"""Loans between projects: proposed, agreed by the lender's lead, a renewal signed, given back."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from allocations import loans as decisions
from allocations import queries, rules
from allocations.days import day_of, plus_days, start_of
from allocations.grants import site_zone
from allocations.models import Loan, Project, Role
from portal.forms import AnswerLoanForm, LoanForm, ReasonForm, SignSplitForm
from portal.pages import newest_first
from portal.views.acting import refused


@login_required
@require_safe
def loans(request: HttpRequest) -> HttpResponse:
    """Loans to and from the projects that the person sees, and the form for a new one."""
    initial = {"starts_on": day_of(timezone.now(), site_zone()), "lender": request.GET.get("lender", "")}
    return _list(request, _form(initial=initial))


def _form(data: Any = None, *, initial: dict[str, Any] | None = None) -> LoanForm:
    active = Project.objects.filter(state=Project.State.ACTIVE).order_by("name")
    return LoanForm(data, projects=active, initial=initial)


def _list(request: HttpRequest, form: LoanForm, *, status: int = 200) -> HttpResponse:
    person = request.user
    rows = queries.loans_visible_to(person)
    context = {
        "page": newest_first(rows, request),
        "to_answer": list(rows.filter(lender__lead=person, state=Loan.State.PROPOSED, answered_by=None).order_by("pk")),
        "to_sign": list(queries.loans_waiting_for(person)),
        "renews_within_days": queries.RENEWS_WITHIN_DAYS,
        "signers": queries.roles_for_split(),
        "form": form,
        "may_propose": rules.can(person, "propose_loans"),
    }
    return render(request, "loans/list.html", context, status=status)


@login_required
@require_POST
def loan_propose(request: HttpRequest) -> HttpResponse:
    """A loan that waits for the lender's lead."""
    form, made = _form(request.POST), []

    def propose() -> str:
        said, zone = dict(form.cleaned_data), site_zone()
        starts_at = start_of(said.pop("starts_on"), zone)
        ends_at = plus_days(start_of(said.pop("ends_on"), zone), 1, zone)
        made.append(decisions.propose_loan(by=request.user, starts_at=starts_at, ends_at=ends_at, **said))
        return _("Proposed. All who answer it are told.")

    status = refused(request, form, propose)
    return redirect("loan", made[0].public_id) if status is None else _list(request, form, status=status)


@login_required
@require_safe
def loan(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """One loan: who lends whom what until when, and what this person may do."""
    return _detail(request, _row(request, public_id))


def _row(request: HttpRequest, public_id: UUID) -> Loan:
    rows = queries.with_signatures(queries.loans_visible_to(request.user).select_related("renews"))
    return get_object_or_404(rows, public_id=public_id)


def _detail(request: HttpRequest, row: Loan, *, form: forms.Form | None = None, status: int = 200) -> HttpResponse:
    person = request.user
    is_open = row.state == Loan.State.PROPOSED
    context = {
        "loan": row,
        "fields": queries.signature_fields(row, person, barred=queries.barred_from_loan(row)),
        "is_lent": queries.is_lent(row, timezone.now()),
        "form": form or AnswerLoanForm(),
        "renews_within_days": queries.RENEWS_WITHIN_DAYS,
        "may_answer": is_open and rules.can(person, "answer_loan", row),
        "may_withdraw": is_open and rules.can(person, "withdraw_loan", row),
        "may_return": row.state == Loan.State.AGREED and rules.can(person, "return_loan", row),
    }
    return render(request, "loans/detail.html", context, status=status)


def _answer(request: HttpRequest, row: Loan, form: forms.Form, decide: Callable[[dict[str, Any]], str]) -> HttpResponse:
    status = refused(request, form, lambda: decide(form.cleaned_data))
    if status is None:
        return redirect("loan", row.public_id)
    return _detail(request, _row(request, row.public_id), form=form, status=status)


@login_required
@require_POST
def loan_answer(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The lender's lead has agreed or declined."""
    row = _row(request, public_id)
    rules.require(request.user, "answer_loan", row)

    def decide(said: dict[str, Any]) -> str:
        agrees = said["agrees"] == "yes"
        loan = decisions.answer_loan(loan=row, by=request.user, agrees=agrees, reason=said["reason"])
        return _held(loan) if agrees else _("Declined.")

    return _answer(request, row, AnswerLoanForm(request.POST), decide)


@login_required
@require_POST
def loan_sign(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The person's signature is under the renewal, in the role whose field was pressed."""
    row = _row(request, public_id)

    def decide(said: dict[str, Any]) -> str:
        role = get_object_or_404(Role, slug=said["role"])
        return _held(decisions.sign_loan(loan=row, by=request.user, role=role))

    return _answer(request, row, SignSplitForm(request.POST), decide)


def _held(loan: Loan) -> str:
    if loan.state == Loan.State.AGREED:
        return _("Agreed. The borrower has a need from its first day.")
    return _("Noted. It holds once all others have answered, too.")


@login_required
@require_POST
def loan_withdraw(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """It is off the table."""
    row = _row(request, public_id)

    def decide(said: dict[str, Any]) -> str:
        decisions.withdraw_loan(loan=row, by=request.user, reason=said["reason"])
        return _("Withdrawn.")

    return _answer(request, row, ReasonForm(request.POST), decide)


@login_required
@require_POST
def loan_return(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """It is given back before its day."""
    row = _row(request, public_id)

    def decide(said: dict[str, Any]) -> str:
        decisions.return_loan(loan=row, by=request.user, reason=said["reason"])
        return _("Returned. The lender has a need for them now.")

    return _answer(request, row, ReasonForm(request.POST), decide)
