"""The pitch form: what is typed, what it would mean, what looks like it; a draft that is saved or submitted."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from allocations import pitches as decisions
from allocations import queries, rules
from allocations.asks import TITLE_LIMIT
from allocations.days import day_of
from allocations.errors import AllocationsError
from allocations.grants import site_zone
from allocations.models import Person, Pitch, Project, Role
from portal.forms import AskForm, PitchForm
from portal.outlook import Outlook, outlook
from portal.problems import refuse

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
                return answer_to(request, saved, is_final)
            row, status = saved or row, refuse(form, refusal) if refusal else 422
    context = {"form": form, "pitch": row, "alike": _alike_as_typed(form, request.user, row)}
    context |= _ask(form, initial, projects)
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


def answer_to(request: HttpRequest, row: Pitch, is_final: bool) -> HttpResponse:
    """The answer to a pitch that was saved, or submitted where `is_final`."""
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
    form.is_valid()  # what is not a number yet is no reason to be silent about the rest
    alike = queries.look_alikes(
        title=request.GET.get("title", "")[:TITLE_LIMIT],
        why="",  # a reason may be longer than an address
        project=form.cleaned_data.get("project"),
        person=request.user,
        but=_named(request, "but"),
    )
    context = {"form": form, "alike": alike, **_ask(form, {}, projects)}
    return render(request, "pitches/form.html#outlook", context)


def _named(request: HttpRequest, parameter: str) -> Pitch | None:
    """The pitch that the address names, None where it names none that the person sees."""
    try:
        public_id = UUID(request.GET.get(parameter, ""))
    except ValueError:
        return None
    return queries.pitches_visible_to(request.user).filter(public_id=public_id).first()


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


def _alike_as_typed(form: PitchForm, person: Person, row: Pitch | None) -> list[queries.LookAlike]:
    """What looks like the pitch that the form holds."""
    title, why = (str(form[name].value() or "") for name in ("title", "why"))
    return queries.look_alikes(title=title[:TITLE_LIMIT], why=why, project=None, person=person, but=row)


def _typed(form: AskForm, initial: dict[str, Any]) -> dict[str, Any]:
    """A form's first values as if somebody had typed them; a choice that nobody made is its first."""
    typed = {name: getattr(value, "pk", value) for name, value in initial.items()}
    if typed.get("model") is None:
        first = form.fields["model"].queryset.first()  # type: ignore[attr-defined]
        typed["model"] = first.pk if first else None
    return typed
