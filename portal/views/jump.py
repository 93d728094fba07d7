"""Jump: the pitches, projects, nodes and GPUs whose name holds what was typed."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from allocations import queries, rules
from inventory.models import Gpu, Node

FOUND_ROWS = 10  # of each kind; a longer list is a filter's work


@login_required
@require_safe
def jump(request: HttpRequest) -> HttpResponse:
    """What was found, by kind; goes straight there where exactly one thing has that very name."""
    text = request.GET.get("q", "").strip()
    groups = _found(request, text) if text else []
    exact = [row for _word, rows in groups for row in rows if row[0].lower() == text.lower()]
    if len(exact) == 1:
        return redirect(exact[0][2])
    return render(request, "home/jump.html", {"groups": groups, "jump_text": text})


def _found(request: HttpRequest, text: str) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """(kind, [(name, note, address)]), kinds without a hit left out."""
    person = request.user
    pitches = queries.pitches_visible_to(person).filter(title__icontains=text).order_by("-pk")[:FOUND_ROWS]
    projects = queries.projects_visible_to(person).filter(name__icontains=text).order_by("name")[:FOUND_ROWS]
    nodes, cards = Node.objects.none(), Gpu.objects.none()
    if rules.can(person, "see_fleet"):
        cards = Gpu.objects.filter(uuid__icontains=text).select_related("node").order_by("pk")
        nodes = Node.objects.filter(name__icontains=text, retired_at=None).select_related("model").order_by("name")
    groups = [
        (_("Projects"), [(row.name, row.division.name, reverse("project", args=[row.slug])) for row in projects]),
        (_("Pitches"), [(row.title, row.project.name, reverse("pitch", args=[row.public_id])) for row in pitches]),
        (_("Nodes"), [(row.name, row.model.name, reverse("node", args=[row.name])) for row in nodes[:FOUND_ROWS]]),
        (_("GPUs"), [(str(row), row.node.name, reverse("gpu", args=[row.pk])) for row in cards[:FOUND_ROWS]]),
    ]
    return [(word, rows) for word, rows in groups if rows]
