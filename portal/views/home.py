"""Home: what waits for me, my pitches, my GPUs."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from allocations import queries
from allocations.queries.standing import standings_of
from portal.views.pitch_form import projects_to_pitch_for
from portal.waiting import waiting_for

PITCH_ROWS = 10


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The person's desk."""
    person = request.user
    mine = queries.pitches_of(person).prefetch_related("roles", "sign_offs")
    projects = list(queries.projects_with(person, "view_project").select_related("division").order_by("name"))
    standings = standings_of(projects)
    context = {
        "waiting": waiting_for(person, projects),
        "mine": list(mine.order_by("-pk")[:PITCH_ROWS]),
        "projects": [(project, standings[project.pk]) for project in projects if standings[project.pk]],
        "in_projects": bool(projects),
        "can_pitch": projects_to_pitch_for(person).exists(),
    }
    return render(request, "home/home.html", context)
