"""Pitches: the list, the page of one pitch, submitting, withdrawing, trying again."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from allocations import pitches as decisions
from allocations import queries, rules
from allocations.errors import AllocationsError, NotAllowed
from allocations.models import Grant, Pitch
from allocations.queries.standing import with_gpus
from portal.earlier import earlier_of
from portal.forms import ReasonForm
from portal.pages import newest_first
from portal.problems import refuse
from portal.views.pitch_form import answer_to, projects_to_pitch_for
from portal.views.pitch_story import story_of

ENDED_WITHOUT = (Pitch.State.DECLINED, Pitch.State.WITHDRAWN)  # what a new pitch may follow


@login_required
@require_GET
def pitches(request: HttpRequest) -> HttpResponse:
    """The pitches that the person sees, newest first; filters by state, project and "mine" stand in the address."""
    person = request.user
    rows = queries.pitches_visible_to(person).prefetch_related("roles", "sign_offs")
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
@require_GET
def pitch(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """One pitch: where it stands, who must sign, what happened, what happens next."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    return render(request, "pitches/detail.html", _page(request, row, ReasonForm()))


def _page(request: HttpRequest, row: Pitch, form: ReasonForm) -> dict[str, Any]:
    person = request.user
    grant = _grant_of(row) if row.state == Pitch.State.GRANTED else None
    is_open = row.state in (Pitch.State.DRAFT, Pitch.State.SUBMITTED)
    return {
        "pitch": row,
        "may_resubmit": row.state in ENDED_WITHOUT and rules.can(person, "pitch_for", row.project),
        "earlier": earlier_of(row, person),
        "followers": list(queries.pitches_visible_to(person).filter(resubmits=row).order_by("pk")),
        "story": story_of(row, grant=grant),
        "form": form,
        "may_edit": row.state == Pitch.State.DRAFT and rules.can(person, "edit_pitch", row),
        "may_withdraw": is_open and rules.can(person, "withdraw_pitch", row),
        "may_emergency": row.state in Pitch.SIGNABLE and rules.can(person, "grant_emergency", row),
        "mandates": queries.mandates_to_sign(queries.load_signatures(row), person),
        "alike": queries.look_alikes(title=row.title, why=row.why, project=row.project, person=person, but=row),
    }


def _grant_of(row: Pitch) -> Any:
    grants = with_gpus(Grant.objects.filter(pitch=row))
    return grants.select_related("model", "issued_by", "ended_by").first()


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
        return render(request, "pitches/detail.html", _page(request, row, form), status=status)


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
    return render(request, "pitches/detail.html", _page(request, row, form), status=422)
