"""Answers beside signatures: to a counter-offer, a rank on the waitlist, and taking back what was just answered."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from allocations import pitches as decisions
from allocations import queries
from allocations.errors import AllocationsError
from allocations.models import Pitch, SignOff
from portal.forms import OfferAnswerForm, RankForm
from portal.views.acting import INVALID, refused
from portal.views.pitch_page import page_of
from portal.views.queue_page import show_queue


@login_required
@require_POST
def pitch_answer(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The counter-offer is accepted and granted, or declined and open again. A refusal keeps the typed reason."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    form = OfferAnswerForm(request.POST)
    status = refused(request, form, lambda: _answer(request, row, form))
    return redirect("pitch", public_id) if status is None else _again(request, row, form, status, "offer_form")


def _again(request: HttpRequest, row: Pitch, form: BaseForm, status: int, name: str) -> HttpResponse:
    """The page of the pitch as it is now, with what was typed and why it was refused."""
    if status != INVALID:
        row.refresh_from_db()
        for error in form.non_field_errors():
            messages.error(request, error)
    context = page_of(request, row, **{name: form})  # type: ignore[arg-type]
    return render(request, "pitches/detail.html", context, status=status)


def _answer(request: HttpRequest, row: Pitch, form: OfferAnswerForm) -> str:
    typed = form.cleaned_data
    if typed["answer"] == OfferAnswerForm.ACCEPT:
        grant = decisions.accept_offer(pitch=row, by=request.user, round=typed["round"])
        return _("Accepted: %(gpus)s %(model)s are promised.") % {"gpus": grant.gpus, "model": grant.model.name}
    decisions.decline_offer(pitch=row, by=request.user, round=typed["round"], reason=typed["reason"])
    return _("Declined. Those who sign have been told, and what you asked for is on the table again.")


@login_required
@require_POST
def pitch_rank(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The pitch has another rank on its waitlist."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    form = RankForm(request.POST)

    def rank() -> str:
        decisions.rank_waitlisted(pitch=row, by=request.user, rank=form.cleaned_data["rank"])
        return _("Rank %(rank)s: %(pitch)s.") % {"rank": row.waitlist_rank, "pitch": row.title}

    status = refused(request, form, rank)
    return redirect("pitch", public_id) if status is None else _again(request, row, form, status, "rank_form")


@login_required
@require_POST
def sign_off_undo(request: HttpRequest, pk: int) -> HttpResponse:
    """The person's last answer counts no more, and its pitch is on the screen again; too late, it says what helps."""
    signed = get_object_or_404(SignOff.every.filter(person=request.user), pk=pk)
    try:
        decisions.undo_sign_off(sign_off=signed, by=request.user)
    except AllocationsError as refusal:
        messages.error(request, refusal.message)
        return show_queue(request, None, status=409)
    messages.success(request, _("Undone: %(pitch)s. Nobody was told.") % {"pitch": signed.pitch.title})
    row = signed.pitch
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect("queue_item", row.public_id)
    return show_queue(request, row, address=reverse("queue_item", args=[row.public_id]))
