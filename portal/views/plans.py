"""Plans: proposed for a need, a release or a repair, looked at, committed, undone."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from allocations import plans, rules
from allocations.errors import AllocationsError, NotAllowed
from allocations.models import Grant, Plan, Project
from portal.forms.operate import CommitForm
from portal.problems import Problem, problem_of
from portal.views.plan_story import PlanStory
from portal.views.reshuffle import board

PARTS = {"progress": "#progress"}


@login_required
@require_safe
@vary_on_headers("HX-Target")
def plan(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """What the plan would do or did, and why."""
    rules.require(request.user, "see_trail")
    return _page(request, _plan(public_id))


@login_required
@require_POST
def plan_propose(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """A plan for the need stands beside it; where there is none to make, the page says why."""
    grant = get_object_or_404(Grant, public_id=public_id)
    return _proposed(request, lambda: plans.propose_plan(grant=grant, by=request.user))


@login_required
@require_POST
def release_propose(request: HttpRequest, slug: str) -> HttpResponse:
    """A plan that takes back what the project has no right to any more."""
    project = get_object_or_404(Project, slug=slug)
    return _proposed(request, lambda: plans.propose_release(project=project, by=request.user))


@login_required
@require_POST
def repair_propose(request: HttpRequest) -> HttpResponse:
    """A plan that puts drift and failed moves right."""
    return _proposed(request, lambda: plans.propose_repair(by=request.user))


@login_required
@require_POST
def adoption_propose(request: HttpRequest) -> HttpResponse:
    """A plan that accepts what nodes show."""
    return _proposed(request, lambda: plans.propose_adoption(by=request.user))


@login_required
@require_POST
def plan_undo(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """A plan that gives everything back; it moves nothing before it is committed."""
    row = _plan(public_id)
    try:
        return redirect("plan", plans.propose_undo(plan=row, by=request.user).public_id)
    except NotAllowed:
        raise
    except AllocationsError as error:
        return _page(request, row, problem_of(error))


@login_required
@require_POST
def plan_commit(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The plan holds. Where something changed since the person looked, the page shows that beside it."""
    rules.require(request.user, "commit_plan")
    row = _plan(public_id)
    form = CommitForm(request.POST)
    if not form.is_valid():
        missing = _("The form did not say which state you looked at. Look again and commit then.")
        return _page(request, row, Problem(422, "bad_terms", _("Nothing was committed"), missing))
    try:
        plans.commit_plan(plan=row, by=request.user, generation=form.cleaned_data["generation"])
    except NotAllowed:
        raise
    except AllocationsError as error:
        row.refresh_from_db()
        return _page(request, row, problem_of(error))
    gpus = row.moves.count()
    said = ngettext("Committed: %(gpus)d GPU is on its way.", "Committed: %(gpus)d GPUs are on their way.", gpus)
    messages.success(request, said % {"gpus": gpus})
    return redirect("plan", row.public_id)


def _plan(public_id: UUID) -> Plan:
    related = ("grant__project", "grant__model", "proposed_by", "committed_by", "inverse_of", "parent", "survey")
    return get_object_or_404(Plan.objects.select_related(*related), public_id=public_id)


def _proposed(request: HttpRequest, propose: Callable[[], Plan]) -> HttpResponse:
    """The plan that was proposed, or the desk with the reason why there is none."""
    try:
        return _look_at(propose())
    except NotAllowed:
        raise
    except AllocationsError as error:
        return board(request, refused=problem_of(error))


def _look_at(row: Plan) -> HttpResponse:
    return redirect(f"{reverse('reshuffle')}?plan={row.public_id}#plan")


def _page(request: HttpRequest, row: Plan, refused: Problem | None = None) -> HttpResponse:
    part = PARTS.get(request.htmx.target or "", "") if request.htmx and request.method != "POST" else ""
    context = {"plan": row, "story": PlanStory(row, request.user), "refused": refused}
    return render(request, f"plans/detail.html{part}", context, status=refused.status if refused else 200)
