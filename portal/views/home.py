"""Home: what waits for me, my pitches, my GPUs."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from allocations import queries, rules
from allocations.models import Person, Pitch, Project
from allocations.queries.standing import standings_of
from portal.views.pitch_form import projects_to_pitch_for

WAITING_ROWS = 8  # what a person can take in at once; the queue has the rest
PITCH_ROWS = 10


@dataclass(frozen=True)
class Waiting:
    """One thing that waits for the person: since when, or until when, and the one button that answers it."""

    text: str
    note: str
    address: str
    button: str
    since: datetime | None = None
    due: datetime | None = None


@login_required
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """The person's desk."""
    person = request.user
    mine = queries.pitches_visible_to(person).filter(pitcher=person).prefetch_related("roles", "sign_offs")
    projects = list(queries.projects_with(person, "view_project").select_related("division").order_by("name"))
    standings = standings_of(projects)
    context = {
        "waiting": _waiting(person, projects),
        "mine": list(mine.order_by("-pk")[:PITCH_ROWS]),
        "projects": [(project, standings[project.pk]) for project in projects if standings[project.pk]],
        "in_projects": bool(projects),
        "can_pitch": projects_to_pitch_for(person).exists(),
    }
    return render(request, "home/home.html", context)


def _waiting(person: Person, projects: list[Project]) -> list[Waiting]:
    """Deadlines first, then the longest wait."""
    rows = [
        *_to_sign(person),
        *_splits(person),
        *_own_pitches(person),
        *(_release(project) for project in projects if _must_release(project, person)),
        *_needs(person),
    ]
    return sorted(rows, key=lambda row: (row.due is None, row.due or row.since))


def _to_sign(person: Person) -> list[Waiting]:
    return [
        Waiting(
            text=pitch.title,
            note=_("%(gpus)s %(model)s for %(project)s")
            % {"gpus": pitch.terms.gpus, "model": pitch.terms.model, "project": pitch.project},
            address=reverse("queue_item", args=[pitch.public_id]),
            button=_("Decide"),
            since=pitch.submitted_at,
        )
        for pitch in queries.queue_of(person)[:WAITING_ROWS]
    ]


def _splits(person: Person) -> list[Waiting]:
    return [
        Waiting(
            text=_("A new split of the fleet"),
            note=_("proposed by %(name)s") % {"name": split.proposed_by.name},
            address=reverse("split"),
            button=_("Look and sign"),
            since=split.proposed_at,
            due=split.starts_at,
        )
        for split in queries.splits_waiting_for(person)
    ]


def _own_pitches(person: Person) -> list[Waiting]:
    """Drafts to finish, changes that were asked for, and counter-offers to answer."""
    theirs = [Pitch.State.OFFERED, Pitch.State.CHANGES, Pitch.State.DRAFT]
    rows = Pitch.objects.filter(pitcher=person, state__in=theirs).select_related("project").order_by("-state", "pk")
    return [_own_pitch(pitch) for pitch in rows[:WAITING_ROWS]]


def _own_pitch(pitch: Pitch) -> Waiting:
    note, page, button, since = {
        Pitch.State.DRAFT: (_("draft for %(project)s"), "pitch_edit", _("Finish"), pitch.created_at),
        Pitch.State.CHANGES: (_("changes were asked for"), "pitch_edit", _("Change it"), pitch.submitted_at),
        Pitch.State.OFFERED: (_("other terms are offered"), "pitch", _("Answer"), pitch.offered_at),
    }[Pitch.State(pitch.state)]
    due = pitch.answer_due_at if pitch.state == Pitch.State.OFFERED else None
    address = reverse(page, args=[pitch.public_id])
    return Waiting(pitch.title, note % {"project": pitch.project}, address, button, since, due)


def _must_release(project: Project, person: Person) -> bool:
    return project.lead_id == person.pk and project.state == Project.State.WINDING_DOWN


def _release(project: Project) -> Waiting:
    return Waiting(
        text=_("%(project)s winds down") % {"project": project},
        note=_("its GPUs are promised back"),
        address=reverse("project", args=[project.slug]),
        button=_("Look"),
        due=project.releases_at,
    )


def _needs(person: Person) -> list[Waiting]:
    if not rules.can(person, "propose_plan"):
        return []
    needs: list[Any] = list(queries.needs())
    if not needs:
        return []
    missing = sum(need.missing_gpus for need in needs)
    return [
        Waiting(
            text=ngettext("%(n)s grant lacks GPUs", "%(n)s grants lack GPUs", len(needs)) % {"n": len(needs)},
            note=ngettext("%(n)s GPU to assign", "%(n)s GPUs to assign", missing) % {"n": missing},
            address=reverse("reshuffle"),
            button=_("Plan"),
            since=min(need.starts_at for need in needs),
        )
    ]
