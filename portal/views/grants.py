"""Grants: what is promised to whom until when, what is there of it, and the early end."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from allocations import grants as decisions
from allocations import queries, rules
from allocations.errors import BadTerms
from allocations.models import Grant, Move, Project
from allocations.queries.standing import with_gpus
from portal.changes_shown import changes_of
from portal.forms import ChangeForm, EndGrantForm, ExtensionForm, ResultForm
from portal.pages import newest_first
from portal.problems import refuse

TIMES = {
    "running": gettext_lazy("Running"),
    "planned": gettext_lazy("To come"),
    "ended": gettext_lazy("Ended"),
}
MOVE_ROWS = 200  # more moves than this are read on the reshuffle page


@login_required
@require_safe
def grants(request: HttpRequest) -> HttpResponse:
    """The grants that the person sees, newest first, by time and project."""
    rows = with_gpus(queries.grants_visible_to(request.user))
    chosen = request.GET.get("time", "")
    project = request.GET.get("project", "")
    if project:
        rows = rows.filter(project__slug=project)
    context = {
        "page": newest_first(_at_time(rows, chosen), request),
        "times": TIMES.items(),
        "time": chosen,
        "projects": queries.projects_visible_to(request.user).order_by("name").values_list("slug", "name"),
        "project": project,
        "now": timezone.now(),
        "to_sign": list(queries.changes_waiting_for(request.user)),
    }
    return render(request, "grants/list.html", context)


def _at_time(rows: QuerySet[Grant], chosen: str) -> QuerySet[Grant]:
    now = timezone.now()
    return {
        "running": rows.filter(starts_at__lte=now, ends_at__gt=now),
        "planned": rows.filter(starts_at__gt=now, ends_at__gt=now),
        "ended": rows.filter(ends_at__lte=now),
    }.get(chosen, rows)


@login_required
@require_safe
def grant(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """One grant: what is promised, what is assigned and held, its moves."""
    return render(request, "grants/detail.html", page_of(request, grant_of(request, public_id)))


def grant_of(request: HttpRequest, public_id: UUID) -> Any:
    """The grant as its page shows it; 404 for who may not see it."""
    rows = with_gpus(queries.grants_visible_to(request.user)).select_related("result_check__answered_by")
    return get_object_or_404(rows, public_id=public_id)


def page_of(request: HttpRequest, row: Any, **typed: Any) -> dict[str, Any]:
    """What the page of a grant shows this person; `typed`: forms that were refused, by their name."""
    person, now = request.user, timezone.now()
    moves = Move.objects.filter(grant=row).select_related("gpu__node").order_by("-pk")[:MOVE_ROWS]
    loan, is_over = queries.loan_of(row), row.ends_at <= now
    changes = changes_of(row, person, typed)
    asked = {item.change.kind for item in changes if item.is_open}
    may_ask = row.ended_at is None and loan is None and row.project.state == Project.State.ACTIVE
    return {
        "grant": row,
        "loan": loan,
        "lent": row.gpus - row.due_gpus,
        "missing": max(row.due_gpus - row.assigned_gpus, 0),
        "on_the_way": max(row.assigned_gpus - row.held_gpus, 0),
        "state": "ended" if is_over else "planned" if row.starts_at > now else "running",
        "moves": moves,
        "changes": changes,
        "late_gpu_days": queries.late_gpu_days([row], at=now)[row.pk],
        "idle_case": queries.open_cases().filter(grant=row).first(),
        "ladder": queries.ladders([row.project])[row.project_id],
        "check": getattr(row, "result_check", None),
        "may_answer_result": rules.can(person, "answer_result", row),
        "may_extend": may_ask and "extend" not in asked and rules.can(person, "ask_extension", row),
        "may_change": may_ask and not is_over and rules.can(person, "ask_change", row),
        "may_end": not is_over and row.ended_at is None and rules.can(person, "end_grant", row),
        "form": EndGrantForm(),
        "extension_form": ExtensionForm(prefix="extend"),
        "change_form": ChangeForm(prefix="change", initial={"gpus": row.gpus}),
        "result_form": ResultForm(prefix="result"),
        **typed,
    }


@login_required
@require_POST
def grant_end(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The promise ends now, for the reason given."""
    row = grant_of(request, public_id)
    rules.require(request.user, "end_grant", row)
    form = EndGrantForm(request.POST)
    status = 422
    if form.is_valid():
        try:
            decisions.end_grant(grant=row, by=request.user, reason=form.cleaned_data["reason"])
        except BadTerms as refusal:
            status = refuse(form, refusal)
        else:
            messages.success(request, _("Ended. What it holds is free for the next plan."))
            return redirect("grant", row.public_id)
    return render(request, "grants/detail.html", page_of(request, row, form=form), status=status)
