"""Pitches: the list, the page of one pitch, submitting, withdrawing, trying again."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from allocations import asks, queries
from allocations import pitches as decisions
from allocations.errors import AllocationsError, NotAllowed
from allocations.models import Pitch
from portal.forms import ReasonForm
from portal.pages import newest_first
from portal.problems import refuse
from portal.views.pitch_form import answer_to, projects_to_pitch_for
from portal.views.pitch_page import page_of


@login_required
@require_safe
def pitches(request: HttpRequest) -> HttpResponse:
    """The pitches that the person sees, newest first; filters by state, project and "mine" stand in the address."""
    person = request.user
    rows = queries.pitches_visible_to(person).select_related(None)
    rows = rows.select_related("project", "pitcher", "model", "offered_model").prefetch_related("roles", "sign_offs")
    rows = _narrow(rows, request)
    context = {
        "page": newest_first(rows, request),
        "states": Pitch.State.choices,
        "state": request.GET.get("state", ""),
        "mine": request.GET.get("mine", ""),
        "projects": queries.projects_visible_to(person).order_by("name").values_list("slug", "name"),
        "project": request.GET.get("project", ""),
        "can_pitch": projects_to_pitch_for(person).exists(),
    }
    return render(request, "pitches/list.html", context)


def _narrow(rows: QuerySet[Pitch], request: HttpRequest) -> QuerySet[Pitch]:
    if request.GET.get("mine"):
        rows = rows.filter(pitcher=request.user)
    if request.GET.get("state") in Pitch.State.values:
        rows = rows.filter(state=request.GET["state"])
    if request.GET.get("project"):
        rows = rows.filter(project__slug=request.GET["project"])
    return rows


@login_required
@require_safe
def pitch(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """One pitch: where it stands, who must sign, what happened, what happens next."""
    row = get_object_or_404(asks.with_details(queries.pitches_visible_to(request.user)), public_id=public_id)
    return render(request, "pitches/detail.html", page_of(request, row))


@login_required
@require_POST
def pitch_submit(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The draft goes to the people who must sign."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    try:
        return answer_to(request, decisions.submit_pitch(pitch=row, by=request.user), is_final=True)
    except NotAllowed:
        raise
    except AllocationsError as refusal:
        form = ReasonForm({})
        form.is_valid()
        status = refuse(form, refusal)
        return render(request, "pitches/detail.html", page_of(request, row, form=form), status=status)


@login_required
@require_POST
def pitch_resubmit(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """A draft that follows the pitch is open for writing; one that waits already is shown."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    following = decisions.resubmit_pitch(pitch=row, by=request.user)
    return redirect("pitch_edit" if following.state == Pitch.State.DRAFT else "pitch", following.public_id)


@login_required
@require_POST
def pitch_withdraw(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The pitch is off the table."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    form = ReasonForm(request.POST)
    if form.is_valid():
        decisions.withdraw_pitch(pitch=row, by=request.user, reason=form.cleaned_data["reason"])
        messages.success(request, _("Withdrawn."))
        return redirect("pitch", row.public_id)
    return render(request, "pitches/detail.html", page_of(request, row, form=form), status=422)
