"""Decisions about a running grant: asked, answered and signed on its own page."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from allocations import changes as decisions
from allocations import emergencies, queries, results, rules
from allocations.days import start_of
from allocations.grants import site_zone
from allocations.models import GrantChange, ResultCheck, Role
from portal.forms import (
    AnswerChangeForm,
    ChangeForm,
    EmergencyForm,
    ExtensionForm,
    ReasonForm,
    ResultForm,
    SignChangeForm,
)
from portal.views.acting import INVALID, refused
from portal.views.grants import grant_of, page_of
from portal.views.pitch_page import page_of as pitch_page


def _answer(
    request: HttpRequest, row: Any, name: str, form: forms.Form, decide: Callable[[dict[str, Any]], str]
) -> HttpResponse:
    """Decided and told; or the page of the grant again with what was typed and why not."""
    status = refused(request, form, lambda: decide(form.cleaned_data))
    if status is None:
        return redirect("grant", row.public_id)
    row = row if status == INVALID else grant_of(request, row.public_id)
    return render(request, "grants/detail.html", page_of(request, row, **{name: form}), status=status)


def _change(request: HttpRequest, public_id: UUID) -> tuple[GrantChange, Any]:
    change = get_object_or_404(GrantChange.objects.select_related("grant__project", "asked_by"), public_id=public_id)
    return change, grant_of(request, change.grant.public_id)


@login_required
@require_POST
def grant_extend(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The grant is asked to go on."""
    row = grant_of(request, public_id)
    rules.require(request.user, "ask_extension", row)

    def decide(said: dict[str, Any]) -> str:
        decisions.ask_extension(grant=row, by=request.user, **said)
        return _("Asked. It holds once all have signed.")

    return _answer(request, row, "extension_form", ExtensionForm(request.POST, prefix="extend"), decide)


@login_required
@require_POST
def grant_change(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The grant is to become smaller or to end; others sign it."""
    row = grant_of(request, public_id)
    rules.require(request.user, "ask_change", row)

    def decide(said: dict[str, Any]) -> str:
        day = said["takes_effect_on"]
        at = start_of(day, site_zone()) if day else None
        decisions.ask_change(grant=row, by=request.user, gpus=said["gpus"], takes_effect_at=at, reason=said["reason"])
        return _("Asked. The lead is told; it holds once all have signed.")

    return _answer(request, row, "change_form", ChangeForm(request.POST, prefix="change"), decide)


@login_required
@require_POST
def change_sign(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The person's signature is under the change, or it is declined."""
    change, row = _change(request, public_id)
    rules.require(request.user, "sign_change", change)

    def decide(said: dict[str, Any]) -> str:
        role = Role.objects.filter(slug=said["role"]).first()
        decisions.sign_change(change=change, by=request.user, verdict=said["verdict"], role=role, reason=said["reason"])
        if change.state == GrantChange.State.ASKED:
            return _("Signed. It waits for the others.")
        return _("Decided: %(state)s.") % {"state": change.get_state_display()}

    return _answer(request, row, f"sign_form_{change.pk}", SignChangeForm(request.POST), decide)


@login_required
@require_POST
def change_answer(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The lead has answered; those who sign read it."""
    change, row = _change(request, public_id)
    rules.require(request.user, "answer_change", change)

    def decide(said: dict[str, Any]) -> str:
        decisions.answer_change(change=change, by=request.user, **said)
        return _("Said. Those who sign read it.")

    return _answer(request, row, f"answer_form_{change.pk}", AnswerChangeForm(request.POST), decide)


@login_required
@require_POST
def change_withdraw(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """It is off the table."""
    change, row = _change(request, public_id)
    rules.require(request.user, "withdraw_change", change)

    def decide(said: dict[str, Any]) -> str:
        decisions.withdraw_change(change=change, by=request.user, reason=said["reason"])
        return _("Withdrawn.")

    return _answer(request, row, f"sign_form_{change.pk}", ReasonForm(request.POST), decide)


@login_required
@require_POST
def grant_result(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """What came of the grant is said."""
    row = grant_of(request, public_id)
    check = get_object_or_404(ResultCheck.objects.select_related("grant__project", "grant__pitch"), grant=row)
    rules.require(request.user, "answer_result", row)

    def decide(said: dict[str, Any]) -> str:
        results.answer_result(check=check, by=request.user, **said)
        return _("Thank you. The next approvers of this project read it.")

    return _answer(request, row, "result_form", ResultForm(request.POST, prefix="result"), decide)


@login_required
@require_POST
def pitch_emergency(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The pitch is granted at once; others ratify it in time or it ends by itself."""
    pitch = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    rules.require(request.user, "grant_emergency", pitch)
    form = EmergencyForm(request.POST, prefix="emergency")

    def grant() -> str:
        emergencies.grant_emergency(pitch=pitch, by=request.user, reason=form.cleaned_data["reason"])
        return _("Granted. It ends by itself unless it is ratified in time.")

    status = refused(request, form, grant)
    if status is None:
        return redirect("grant", pitch.grant.public_id)
    if status != INVALID:
        pitch.refresh_from_db()
    return render(request, "pitches/detail.html", pitch_page(request, pitch, emergency_form=form), status=status)
