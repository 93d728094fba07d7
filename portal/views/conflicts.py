"""Declared conflicts of interest: a person's own, and for admins those of anybody."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from allocations import queries, recusals, rules
from allocations.days import plus_days, start_of
from allocations.grants import site_zone
from allocations.models import ConflictOfInterest, Person
from portal.forms import ConflictForm, EndConflictForm
from portal.views.acting import refused


@login_required
@require_safe
def conflicts(request: HttpRequest) -> HttpResponse:
    """The person's own conflicts of interest, and the form for another."""
    return _show(request, request.user)


@login_required
@require_safe
def person_conflicts(request: HttpRequest, pk: int) -> HttpResponse:
    """Somebody's conflicts of interest, for admins."""
    return _show(request, _whose(request, pk))


@login_required
@require_POST
def conflict_declare(request: HttpRequest, pk: int) -> HttpResponse:
    """The person signs nothing of the project from now on."""
    whose = _whose(request, pk)
    form = ConflictForm(request.POST, projects=queries.projects_to_declare(whose, by=request.user))

    def declare() -> str:
        said, zone = form.cleaned_data, site_zone()
        last = said["until_on"]
        until = plus_days(start_of(last, zone), 1, zone) if last else None
        recusals.declare_conflict(
            person=whose, project=said["project"], by=request.user, reason=said["reason"], until=until
        )
        return _("Declared. Those who sign instead have been told.")

    status = refused(request, form, declare)
    return _back(request, whose) if status is None else _show(request, whose, form=form, status=status)


@login_required
@require_POST
def conflict_end(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The person may sign for the project again."""
    row = get_object_or_404(ConflictOfInterest.objects.select_related("person", "project"), public_id=public_id)
    whose = _whose(request, row.person_id)
    form = EndConflictForm(request.POST, prefix=f"end-{row.pk}")

    def end() -> str:
        recusals.end_conflict(conflict=row, by=request.user, reason=form.cleaned_data["reason"])
        return _("Ended. Those who sign beside you have been told.")

    status = refused(request, form, end)
    if status is None:
        return _back(request, whose)
    return _show(request, whose, status=status, ending={row.pk: form})


def _whose(request: HttpRequest, pk: int) -> Person:
    whose = request.user if pk == request.user.pk else get_object_or_404(Person, pk=pk)
    rules.require(request.user, "declare_conflict", whose)
    return whose


def _back(request: HttpRequest, whose: Person) -> HttpResponse:
    return redirect("conflicts") if whose == request.user else redirect("person_conflicts", whose.pk)


def _show(
    request: HttpRequest,
    whose: Person,
    *,
    form: ConflictForm | None = None,
    status: int = 200,
    ending: dict[int, EndConflictForm] | None = None,
) -> HttpResponse:
    rows = queries.conflicts_now().filter(person=whose).select_related("project__division", "declared_by")
    context: dict[str, Any] = {
        "whose": whose,
        "is_own": whose == request.user,
        "rows": [(row, (ending or {}).get(row.pk) or EndConflictForm(prefix=f"end-{row.pk}")) for row in rows],
        "form": form or ConflictForm(projects=queries.projects_to_declare(whose, by=request.user)),
    }
    return render(request, "conflicts/list.html", context, status=status)
