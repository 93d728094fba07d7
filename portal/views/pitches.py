"""Pitches: the list, the form with its outlook, the page of one pitch, submitting and withdrawing."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from allocations import pitches as decisions
from allocations import queries, rules
from allocations.days import day_of
from allocations.errors import AllocationsError, NotAllowed
from allocations.grants import site_zone
from allocations.models import Grant, Person, Pitch, Project, Role
from allocations.queries.standing import with_gpus
from portal.forms import AskForm, PitchForm, ReasonForm
from portal.outlook import Outlook, outlook
from portal.pages import newest_first
from portal.problems import refuse
from portal.views.pitch_story import story_of

USUAL_GPUS, USUAL_DAYS = 8, 14  # where a new pitch begins: a node for a sprint


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
        "projects": queries.projects_visible_to(person).order_by("name"),
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


def projects_to_pitch_for(person: Person) -> QuerySet[Project]:
    """Active projects that the person may pitch for."""
    own = queries.projects_with(person, "pitch_for_project")
    every = Project.objects.all() if any(r.power == Role.Power.OPERATE for r in queries.roles_of(person)) else own
    return every.filter(state=Project.State.ACTIVE).select_related("division").order_by("name")


@login_required
@require_http_methods(["GET", "POST"])
def pitch_new(request: HttpRequest) -> HttpResponse:
    """A new pitch; `?project=` chooses the project beforehand."""
    projects = projects_to_pitch_for(request.user)
    today = day_of(timezone.now(), site_zone())
    chosen = projects.filter(slug=request.GET.get("project", "")).first() or projects.first()
    initial = {
        "project": chosen, "ideal_gpus": USUAL_GPUS, "min_gpus": USUAL_GPUS, "days": USUAL_DAYS, "start_on": today
    }  # fmt: skip
    return _edit(request, None, initial)


@login_required
@require_http_methods(["GET", "POST"])
def pitch_edit(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """A draft, changed by its writer."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    rules.require(request.user, "edit_pitch", row)
    return _edit(request, row, PitchForm.values_of(row))


def _edit(request: HttpRequest, row: Pitch | None, initial: dict[str, Any]) -> HttpResponse:
    projects = projects_to_pitch_for(request.user)
    is_final = request.POST.get("do") == "submit"
    form = PitchForm(request.POST or None, initial=initial, projects=projects, is_final=is_final)
    status = 200
    if request.method == "POST" and request.POST.get("do") != "look":
        status = 422
        if form.is_valid():
            saved, refusal = _save(form, row, request.user, is_final)
            if saved is not None and refusal is None:
                return _saved(request, saved, is_final)
            row, status = saved or row, refuse(form, refusal) if refusal else 422
    context = {"form": form, "pitch": row, **_ask(form, initial, projects)}
    return render(request, "pitches/form.html", context, status=status)


def _save(
    form: PitchForm, row: Pitch | None, by: Person, is_final: bool
) -> tuple[Pitch | None, AllocationsError | None]:
    """The saved draft and why it was not submitted; what was typed is kept even where the submission is refused."""
    saved: Pitch | None = None
    try:
        saved = decisions.save_draft(pitch=row, by=by, **form.cleaned_data)
        if is_final:
            saved = decisions.submit_pitch(pitch=saved, by=by)
    except AllocationsError as refusal:
        return saved, refusal
    return saved, None


def _saved(request: HttpRequest, row: Pitch, is_final: bool) -> HttpResponse:
    if is_final:
        roles = ", ".join(role.name for role in row.roles.all())
        messages.success(request, _("Submitted. It now waits for: %(roles)s.") % {"roles": roles})
        return redirect("pitch", row.public_id)
    messages.success(request, _("Draft saved. Only you see it."))
    return redirect("pitch_edit", row.public_id)


@login_required
@require_GET
def pitch_outlook(request: HttpRequest) -> HttpResponse:
    """The panel beside the form, for what is typed at this moment."""
    projects = projects_to_pitch_for(request.user)
    form = AskForm(request.GET, projects=projects)
    return render(request, "pitches/form.html#outlook", {"form": form, **_ask(form, {}, projects)})


def _ask(form: AskForm, initial: dict[str, Any], projects: QuerySet[Project]) -> dict[str, Outlook | None]:
    """The outlook for what the form holds; None while its numbers make no sense yet."""
    ask = AskForm(form.data if form.is_bound else _typed(form, initial), projects=projects)
    if not ask.is_valid():
        return {"outlook": None}
    typed = ask.cleaned_data
    project = typed["project"]
    roles = queries.roles_for_pitch(division=project.division, gpus=typed["ideal_gpus"], days=typed["days"])
    return {
        "outlook": outlook(
            division=project.division,
            model=typed["model"],
            gpus=typed["ideal_gpus"],
            min_gpus=min(typed["min_gpus"], typed["ideal_gpus"]),
            start_on=typed["start_on"],
            days=typed["days"],
            roles=roles,
        )
    }


def _typed(form: AskForm, initial: dict[str, Any]) -> dict[str, Any]:
    """A form's first values as if somebody had typed them; a choice that nobody made is its first."""
    typed = {name: getattr(value, "pk", value) for name, value in initial.items()}
    if typed.get("model") is None:
        first = form.fields["model"].queryset.first()  # type: ignore[attr-defined]
        typed["model"] = first.pk if first else None
    return typed


@login_required
@require_GET
def pitch(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """One pitch: where it stands, who must sign, what happened, what happens next."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    return render(request, "pitches/detail.html", _page(request, row, ReasonForm()))


def _page(request: HttpRequest, row: Pitch, form: ReasonForm) -> dict[str, Any]:
    person = request.user
    grant = with_gpus(Grant.objects.filter(pitch=row)).select_related("model", "issued_by", "ended_by").first()
    is_open = row.state in (Pitch.State.DRAFT, Pitch.State.SUBMITTED)
    return {
        "pitch": row,
        "story": story_of(row, grant=grant),
        "form": form,
        "may_edit": row.state == Pitch.State.DRAFT and rules.can(person, "edit_pitch", row),
        "may_withdraw": is_open and rules.can(person, "withdraw_pitch", row),
        "my_roles": queries.roles_to_sign(row, person),
    }


@login_required
@require_POST
def pitch_submit(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The draft goes to the people who must sign."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    try:
        return _saved(request, decisions.submit_pitch(pitch=row, by=request.user), is_final=True)
    except NotAllowed:
        raise
    except AllocationsError as refusal:
        form = ReasonForm({})
        form.is_valid()
        status = refuse(form, refusal)
        return render(request, "pitches/detail.html", _page(request, row, form), status=status)


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
