"""Scenarios of the desk: marks that somebody prepares and somebody else opens."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from allocations import rules
from allocations import scenarios as decisions
from allocations.errors import AllocationsError, NotAllowed
from allocations.queries import desk as asked
from portal.forms.desk import Marks, place_of
from portal.problems import problem_of
from portal.views.desk import show


@login_required
@require_POST
def scenario_save(request: HttpRequest) -> HttpResponse:
    """What is marked is kept under the name; a refusal keeps the marks and says why."""
    marks = Marks.of(request.POST)
    name, note = request.POST.get("scenario_name", ""), request.POST.get("scenario_note", "")
    try:
        saved = decisions.save_scenario(
            by=request.user, name=name, note=note, place=place_of(request.POST), marks=marks.kept
        )
    except NotAllowed:
        raise
    except AllocationsError as refusal:
        problem = problem_of(refusal)
        return show(request, marks, refusal=problem.detail, typed={"name": name, "note": note}, status=problem.status)
    messages.success(request, _("Saved as a scenario: %(name)s. It decides nothing.") % {"name": saved.name})
    return redirect(f"{reverse('desk')}?{saved.place}&scenario={saved.public_id}")


@login_required
@require_POST
def scenario_drop(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Its saver drops it."""
    rules.require(request.user, "use_desk")
    row = get_object_or_404(asked.scenarios(), public_id=public_id)
    decisions.drop_scenario(scenario=row, by=request.user)
    messages.success(request, _("Dropped: %(name)s.") % {"name": row.name})
    return redirect(f"{reverse('desk')}?{row.place}")
