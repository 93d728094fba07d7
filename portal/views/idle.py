"""Idle GPUs: what was asked and what the readings showed, kept with a reason and a day; quiet phases of projects."""

from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from allocations import idle as decisions
from allocations import queries, rules
from allocations.days import day_of, last_day, plus_days, start_of
from allocations.grants import site_zone
from allocations.models import IdleCase, IdlePhase, Project
from portal.forms import KeepForm, PhaseForm
from portal.pages import newest_first
from portal.views.acting import refused


@login_required
@require_safe
def cases(request: HttpRequest) -> HttpResponse:
    """The idle GPUs that the person may know of; for ops also those that do next to nothing."""
    rows = queries.cases_visible_to(request.user).filter(state__in=IdleCase.OPEN)
    low = queries.low_units()[:50] if rules.can(request.user, "propose_plan") else []
    return render(request, "idle/list.html", {"page": newest_first(rows, request), "low": low})


@login_required
@require_safe
def case(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """One case: each GPU's readings, what was asked when, and the two answers."""
    return _page(request, _case(request, public_id))


def _case(request: HttpRequest, public_id: UUID) -> IdleCase:
    return get_object_or_404(queries.cases_visible_to(request.user), public_id=public_id)


def _page(request: HttpRequest, row: IdleCase, form: KeepForm | None = None, status: int = 200) -> HttpResponse:
    may_keep = IdleCase.State.KEPT in IdleCase.NEXT[IdleCase.State(row.state)]
    context = {
        "case": row,
        "ladder": queries.ladders([row.grant.project])[row.grant.project_id],
        "may_keep": may_keep and rules.can(request.user, "keep_idle", row.grant),
        "may_end": rules.can(request.user, "end_grant", row.grant) and row.grant.ended_at is None,
        "form": form or KeepForm(initial={"until_on": day_of(timezone.now(), site_zone())}),
    }
    return render(request, "idle/detail.html", context, status=status)


@login_required
@require_POST
def case_keep(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """They are kept until the end of that day."""
    row, form = _case(request, public_id), KeepForm(request.POST)
    rules.require(request.user, "keep_idle", row.grant)

    def keep() -> str:
        said = form.cleaned_data
        decisions.keep(case=row, by=request.user, reason=said["reason"], until=_end_of(said["until_on"], row))
        return _("Kept. Nobody asks about them until then.")

    status = refused(request, form, keep)
    if status is None:
        return redirect("idle_case", public_id)
    return _page(request, _case(request, public_id), form, status)


def _end_of(day: date, row: IdleCase) -> datetime:
    """The end of the day, on the grant's last day that of the grant."""
    zone = site_zone()
    return row.grant.ends_at if day == last_day(row.grant.ends_at, zone) else plus_days(start_of(day, zone), 1, zone)


@login_required
@require_safe
def phases(request: HttpRequest, slug: str) -> HttpResponse:
    """The quiet phases of a project, and after how long it is asked about idle GPUs."""
    return _phases(request, _project(request, slug))


def _project(request: HttpRequest, slug: str) -> Project:
    return get_object_or_404(queries.projects_visible_to(request.user), slug=slug)


def _phases(request: HttpRequest, row: Project, form: PhaseForm | None = None, status: int = 200) -> HttpResponse:
    today = day_of(timezone.now(), site_zone())
    context: dict[str, Any] = {
        "project": row,
        "ladder": queries.ladders([row])[row.pk],
        "phases": list(queries.phases_of(row)),
        "may_declare": rules.can(request.user, "declare_idle_phase", row),
        "form": form or PhaseForm(initial={"starts_on": today, "ends_on": today}),
    }
    return render(request, "idle/phases.html", context, status=status)


@login_required
@require_POST
def phase_declare(request: HttpRequest, slug: str) -> HttpResponse:
    """The project's GPUs may be quiet on these days."""
    row, form = _project(request, slug), PhaseForm(request.POST)
    rules.require(request.user, "declare_idle_phase", row)

    def declare() -> str:
        said, zone = form.cleaned_data, site_zone()
        decisions.declare_phase(
            project=row,
            by=request.user,
            reason=said["reason"],
            starts_at=start_of(said["starts_on"], zone),
            ends_at=plus_days(start_of(said["ends_on"], zone), 1, zone),
        )
        return _("Said. Nobody asks about idle GPUs on these days.")

    status = refused(request, form, declare)
    return redirect("idle_phases", slug) if status is None else _phases(request, row, form, status)


@login_required
@require_POST
def phase_end(request: HttpRequest, slug: str, public_id: UUID) -> HttpResponse:
    """The quiet phase is over now."""
    row = get_object_or_404(IdlePhase.objects.select_related("project"), project__slug=slug, public_id=public_id)
    _project(request, slug)
    decisions.end_phase(phase=row, by=request.user)
    messages.success(request, _("Over. Idle GPUs are asked about again."))
    return redirect("idle_phases", slug)
