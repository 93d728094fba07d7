"""Projects: the list, the page of one, winding down, going on after all, ending."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from allocations import projects as decisions
from allocations import queries, rules
from allocations.days import day_of, plus_days, start_of
from allocations.grants import site_zone
from allocations.models import Person, Project
from allocations.queries.standing import standings_of, with_gpus
from portal.forms import EndProjectForm, LeadForm, MemberForm, ResumeForm, TermsForm, WindDownForm
from portal.pages import newest_first
from portal.views.acting import refused
from portal.views.people import members_of

RECENT_ROWS = 8


@login_required
@require_safe
def projects(request: HttpRequest) -> HttpResponse:
    """The projects that the person sees, newest first, with what each has been promised and holds."""
    rows = queries.projects_visible_to(request.user)
    state = request.GET.get("state", "")
    if state in Project.State.values:
        rows = rows.filter(state=state)
    page = newest_first(rows, request)
    standings = standings_of(page.rows)
    context = {
        "page": page,
        "rows": [(project, standings[project.pk]) for project in page],
        "states": Project.State.choices,
        "state": state,
    }
    return render(request, "projects/list.html", context)


@login_required
@require_safe
def project(request: HttpRequest, slug: str) -> HttpResponse:
    """One project: state, GPUs by model, grants, pitches, members, terms."""
    row = get_object_or_404(queries.projects_visible_to(request.user), slug=slug)
    return render(request, "projects/detail.html", _page(request, row))


def _page(request: HttpRequest, row: Project, **typed: forms.Form) -> dict[str, Any]:
    person, now = request.user, timezone.now()
    is_over = row.state == Project.State.ENDED
    may_wind_down = not is_over and rules.can(person, "wind_down", row)
    members, may_edit_members = members_of(row), not is_over and rules.can(person, "edit_members", row)
    return {
        "project": row,
        "standings": standings_of([row])[row.pk],
        "members": members,
        "may_edit_members": may_edit_members,
        "member_form": MemberForm(),
        "lead_form": LeadForm(members=members, initial={"person": row.lead_id}),
        **_terms(row, person, now),
        "terms_form": typed.get("terms_form") or _terms_form(row, now),
        "loans": queries.loans_of(row),
        "grants": with_gpus(row.grants.filter(ends_at__gt=now)).select_related("model").order_by("ends_at"),
        "pitches": queries.pitches_visible_to(person).filter(project=row).order_by("-pk")[:RECENT_ROWS],
        "may_pitch": row.state == Project.State.ACTIVE and rules.can(person, "pitch_for", row),
        "may_wind_down": may_wind_down and row.state == Project.State.ACTIVE,
        "may_resume": may_wind_down and row.state == Project.State.WINDING_DOWN,
        "may_end": not is_over and rules.can(person, "end_project", row),
        "wind_down_form": typed.get("wind_down_form") or WindDownForm(prefix="wind"),
        "resume_form": typed.get("resume_form") or ResumeForm(prefix="resume"),
        "end_form": typed.get("end_form") or EndProjectForm(prefix="end"),
    }


def _terms(row: Project, person: Person, now: datetime) -> dict[str, Any]:
    """The terms in force, all that were signed, and for those who decide what is guaranteed against the share."""
    signed = list(queries.terms_of(row))
    may_set = row.state != Project.State.ENDED and rules.can(person, "set_terms", row)
    capacities = queries.capacities_of(at=now) if may_set else []
    return {
        "terms": next((terms for terms in signed if now in terms.during), None),
        "terms_signed": signed,
        "may_set_terms": may_set,
        "guarantees": queries.guarantees_of(row.division, capacities, at=now) if may_set else None,
    }


def _terms_form(row: Project, now: datetime) -> TermsForm:
    return TermsForm(prefix="terms", initial={"starts_on": day_of(now, site_zone())})


def _answer(
    request: HttpRequest, slug: str, action: str, name: str, form: forms.Form, decide: Callable[[Project], str]
) -> HttpResponse:
    """What the three decisions about a project share: may you, is it whole, do it; else the page as it was typed."""
    row = get_object_or_404(queries.projects_visible_to(request.user), slug=slug)
    rules.require(request.user, action, row)
    status = refused(request, form, lambda: decide(row))
    if status is None:
        return redirect("project", slug)
    row.refresh_from_db()
    return render(request, "projects/detail.html", _page(request, row, **{name: form}), status=status)


@login_required
@require_POST
def project_terms(request: HttpRequest, slug: str) -> HttpResponse:
    """Other terms hold from a day on; the history stays."""
    form = TermsForm(request.POST, prefix="terms")

    def decide(row: Project) -> str:
        said, zone = dict(form.cleaned_data), site_zone()
        last = said.pop("ends_on")
        decisions.set_terms(
            project=row,
            by=request.user,
            starts_at=start_of(said.pop("starts_on"), zone),
            until=plus_days(start_of(last, zone), 1, zone) if last else None,
            **said,
        )
        return _("Signed. The terms hold from that day.")

    return _answer(request, slug, "set_terms", "terms_form", form, decide)


@login_required
@require_POST
def project_wind_down(request: HttpRequest, slug: str) -> HttpResponse:
    """The project gives its GPUs back by a promised day."""
    form = WindDownForm(request.POST, prefix="wind")

    def decide(row: Project) -> str:
        last_day, zone = form.cleaned_data["releases_on"], site_zone()
        decisions.wind_down(
            project=row,
            by=request.user,
            reason=form.cleaned_data["reason"],
            releases_at=plus_days(start_of(last_day, zone), 1, zone),
        )
        return _("%(project)s winds down. Its GPUs may now be planned for others.") % {"project": row.name}

    return _answer(request, slug, "wind_down", "wind_down_form", form, decide)


@login_required
@require_POST
def project_resume(request: HttpRequest, slug: str) -> HttpResponse:
    """The project goes on after all."""
    form = ResumeForm(request.POST, prefix="resume")

    def decide(row: Project) -> str:
        decisions.resume_project(project=row, by=request.user, reason=form.cleaned_data["reason"])
        return _("%(project)s goes on.") % {"project": row.name}

    return _answer(request, slug, "wind_down", "resume_form", form, decide)


@login_required
@require_POST
def project_end(request: HttpRequest, slug: str) -> HttpResponse:
    """The project is over; what it holds is to be given back."""
    form = EndProjectForm(request.POST, prefix="end")

    def decide(row: Project) -> str:
        decisions.end_project(project=row, by=request.user, reason=form.cleaned_data["reason"])
        return _("%(project)s has ended.") % {"project": row.name}

    return _answer(request, slug, "end_project", "end_form", form, decide)
