"""The pitch form: what is typed, what it would mean, what looks like it; a draft that is saved or submitted."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from allocations import pitches as decisions
from allocations import queries, rules
from allocations.asks import TITLE_LIMIT
from allocations.days import day_of
from allocations.errors import AllocationsError
from allocations.grants import site_zone
from allocations.models import Person, Pitch, Project, Role
from portal.earlier import earlier_of, revised_of
from portal.forms import AskForm, PitchForm
from portal.outlook import Outlook, outlook_as_typed
from portal.problems import problem_of, refuse
from portal.views.drafts import Draft, named_id

ASKED = ("project", "model", "ideal_gpus", "min_gpus", "start_on", "days")  # without these there is no outlook
USUAL_GPUS, USUAL_DAYS = 8, 14  # where a new pitch begins: a node for a sprint


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
    named = request.GET.get("project", "")
    chosen = next((each for each in projects if each.slug == named), next(iter(projects), None))
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
    draft = Draft.of(request, row)
    status = 200
    if request.method == "POST" and request.POST.get("do") != "look":
        status = 422
        if form.is_valid():
            refusal = _save(form, draft, request.user, is_final)
            if draft.row is not None and refusal is None:
                return answer_to(request, draft.row, is_final)
            status = refuse(form, refusal) if refusal else 422
    context = {"form": form, "pitch": draft.row, "draft": draft}
    context["earlier"] = earlier_of(draft.row, request.user) if draft.row else None
    context["revised"] = revised_of(draft.row) if draft.row else None
    if request.method == "POST":  # else the panel comes on its own, so that the form is there at once
        context["alike"] = _alike_as_typed(form, request.user, draft.row)
        context |= {"is_looked": True, **_ask(form, initial, projects, request.user, draft.row)}
    return render(request, "pitches/form.html", context, status=status)


def _save(form: PitchForm, draft: Draft, by: Person, is_final: bool) -> AllocationsError | None:
    """Why the draft was not saved or not submitted; what was typed is kept even where the submission is refused."""
    try:
        draft.save(form, by=by)
        if is_final:
            decisions.submit_pitch(pitch=draft.row, by=by)
    except AllocationsError as refusal:
        return refusal
    return None


@require_POST
def pitch_autosave(request: HttpRequest) -> HttpResponse:
    """What is typed so far is kept where it can be; the part says so, or what is missing, or what is in the way."""
    if not request.user.is_authenticated:
        told = _("You are logged out: log in in another tab, then type on. What you typed is still here.")
        return _draft_part(request, Draft.of(request, None), told, status=403)
    draft = Draft.of(request, None)
    saved = PitchForm.values_of(draft.row) if draft.row else {}
    form = PitchForm(request.POST, initial=saved, projects=projects_to_pitch_for(request.user))
    if not form.is_valid():
        return _draft_part(request, draft, _first_error(form), status=422)
    try:
        draft.save(form, by=request.user, is_autosave=True)
    except AllocationsError as refusal:
        return _draft_part(request, draft, str(refusal.message), status=problem_of(refusal).status)
    response = _draft_part(request, draft, "", status=200)
    response.headers["HX-Replace-Url"] = reverse("pitch_edit", args=[draft.public_id])
    return response


def _draft_part(request: HttpRequest, draft: Draft, told: str, *, status: int) -> HttpResponse:
    context = {"draft": draft, "told": told, "is_kept": status == 200}
    return render(request, "pitches/form.html#draft", context, status=status)


def _first_error(form: PitchForm) -> str:
    name, errors = next(iter(form.errors.items()))
    return f"{form[name].label}: {errors[0]}"


def answer_to(request: HttpRequest, row: Pitch, is_final: bool) -> HttpResponse:
    """The answer to a pitch that was saved, or submitted where `is_final`."""
    if is_final:
        roles = ", ".join(role.name for role in row.roles.all())
        messages.success(request, _("Submitted. It now waits for: %(roles)s.") % {"roles": roles})
        return redirect("pitch", row.public_id)
    is_draft = row.state == Pitch.State.DRAFT
    messages.success(
        request, _("Draft saved. Only you see it.") if is_draft else _("Saved. Submit it when it is done.")
    )
    return redirect("pitch_edit", row.public_id)


@login_required
@require_safe
def pitch_outlook(request: HttpRequest) -> HttpResponse:
    """The panel beside the form, for what is typed at this moment."""
    projects = projects_to_pitch_for(request.user)
    form = AskForm(request.GET, projects=projects)
    form.is_valid()
    row = _draft_in(request)
    alike = queries.look_alikes(
        title=request.GET.get("title", "")[:TITLE_LIMIT],
        why="",  # a reason may be longer than an address
        project=form.cleaned_data.get("project"),
        person=request.user,
        but=row,
    )
    context = {"form": form, "alike": alike, "is_part": True, **_ask(form, {}, projects, request.user, row)}
    return render(request, "pitches/form.html#outlook", context)


def _draft_in(request: HttpRequest) -> Pitch | None:
    """The draft that the address names, None where it names none that the person sees."""
    public_id = named_id(request.GET.get("but", ""))
    return queries.pitches_visible_to(request.user).filter(public_id=public_id).first() if public_id else None


def _ask(
    form: AskForm, initial: dict[str, Any], projects: QuerySet[Project], person: Person, row: Pitch | None
) -> dict[str, Outlook | None]:
    """The outlook for what the form holds; None while its numbers make no sense yet."""
    ask = form if form.is_bound else AskForm(_typed(form, initial), projects=projects)
    ask.is_valid()  # what is not a number yet is no reason to be silent about the rest
    typed = ask.cleaned_data
    if any(name not in typed for name in ASKED):
        return {"outlook": None}
    return {
        "outlook": outlook_as_typed(
            project=typed["project"],
            person=person,
            model=typed["model"],
            gpus=typed["ideal_gpus"],
            min_gpus=typed["min_gpus"],
            start_on=typed["start_on"],
            days=typed["days"],
            start_until=typed.get("start_until"),
            alternatives=ask.alternatives,
            but=row,
        )
    }


@login_required
@require_POST
def pitch_questions(request: HttpRequest) -> HttpResponse:
    """The questions of the chosen project's division, with what was answered so far; a POST, since that may be long."""
    form = PitchForm(request.POST, projects=projects_to_pitch_for(request.user))
    return render(request, "pitches/form.html#questions", {"form": form})


def _alike_as_typed(form: PitchForm, person: Person, row: Pitch | None) -> list[queries.LookAlike]:
    """What looks like the pitch that the form holds."""
    title, why = (str(form[name].value() or "") for name in ("title", "why"))
    return queries.look_alikes(title=title[:TITLE_LIMIT], why=why, project=None, person=person, but=row)


def _typed(form: AskForm, initial: dict[str, Any]) -> dict[str, Any]:
    """A form's first values as if somebody had typed them; a choice that nobody made is its first."""
    typed = {name: getattr(value, "pk", value) for name, value in initial.items()}
    if typed.get("model") is None:
        typed["model"] = form.models[0].pk if form.models else None
    return typed
