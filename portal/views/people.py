"""People: who is here, what is somebody's, letting somebody go; the members and the lead of a project."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from allocations import leavers, projects, queries, rules
from allocations.models import HeadCount, Person, Project
from portal.forms import LeadForm, LetGoForm, MemberForm
from portal.pages import newest_first
from portal.views.acting import refused


@login_required
@require_safe
def people(request: HttpRequest) -> HttpResponse:
    """Everybody with an account, newest first, with the roles held; `?q=` looks in names and logins."""
    rules.require(request.user, "administer")
    text = request.GET.get("q", "").strip()
    rows = Person.objects.exclude(username="AnonymousUser")
    for word in text.split():
        rows = rows.filter(Q(username__icontains=word) | Q(first_name__icontains=word) | Q(last_name__icontains=word))
    page = newest_first(rows, request)
    held = queries.roles_held_by(page.rows)
    context = {
        "page": page,
        "rows": [(row, held[row.pk]) for row in page],
        "people_text": text,
        "head_counts": HeadCount.objects.select_related("division").order_by("division", "-starts_on"),
    }
    return render(request, "people/list.html", context)


@login_required
@require_safe
def person(request: HttpRequest, pk: int) -> HttpResponse:
    """What is this person's, and the form that hands it over."""
    rules.require(request.user, "administer")
    return _show(request, get_object_or_404(Person, pk=pk))


@login_required
@require_POST
def person_let_go(request: HttpRequest, pk: int) -> HttpResponse:
    """The person has left; all that was theirs is somebody else's."""
    rules.require(request.user, "administer")
    row = get_object_or_404(Person, pk=pk)
    theirs = queries.theirs(row)
    form = LetGoForm(request.POST, theirs=theirs, people=_heirs(row))

    def let_go() -> str:
        reason = form.cleaned_data["reason"]
        leavers.let_go(person=row, by=request.user, reason=reason, leads_to=form.leads_to, roles_to=form.roles_to)
        return _("%(person)s has left; access ended at once.") % {"person": row.name}

    status = refused(request, form, let_go)
    if status is None:
        return redirect("person", pk)
    row.refresh_from_db()
    return _show(request, row, form=form, status=status)


@login_required
@require_POST
def member_add(request: HttpRequest, slug: str) -> HttpResponse:
    """Somebody works in the project from now on."""

    def decide(project: Project, form: Any) -> str:
        projects.add_member(project=project, person=form.person, by=request.user)
        return _("%(person)s is a member now.") % {"person": form.person.name}

    return _about_members(request, slug, "edit_members", lambda _project: MemberForm(request.POST), decide)


@login_required
@require_POST
def member_end(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Somebody works in the project no longer."""
    member = get_object_or_404(Person, pk=pk)

    def decide(project: Project, _form: Any) -> str:
        projects.end_membership(project=project, person=member, by=request.user)
        return _("%(person)s is no member any more.") % {"person": member.name}

    return _about_members(request, slug, "edit_members", lambda _project: forms.Form(request.POST), decide)


@login_required
@require_POST
def lead_set(request: HttpRequest, slug: str) -> HttpResponse:
    """Another member answers for the project."""

    def decide(project: Project, form: Any) -> str:
        projects.set_lead(project=project, person=form.cleaned_data["person"], by=request.user)
        return _("%(person)s leads %(project)s now.") % {"person": project.lead.name, "project": project.name}

    def form_of(project: Project) -> forms.Form:
        return LeadForm(request.POST, members=members_of(project))

    return _about_members(request, slug, "set_lead", form_of, decide)


def members_of(project: Project) -> QuerySet[Person]:
    """Who works in the project now, by login."""
    now = timezone.now()
    present = Person.objects.filter(memberships__project=project, memberships__during__contains=now)
    return present.order_by("username")


def _about_members(
    request: HttpRequest,
    slug: str,
    action: str,
    form_of: Callable[[Project], forms.Form],
    decide: Callable[[Project, Any], str],
) -> HttpResponse:
    row = get_object_or_404(queries.projects_visible_to(request.user), slug=slug)
    rules.require(request.user, action, row)
    form = form_of(row)
    refused(request, form, lambda: decide(row, form))
    for errors in form.errors.values():
        messages.error(request, " ".join(errors))
    return redirect("project", slug)


def _heirs(row: Person) -> QuerySet[Person]:
    everybody = Person.objects.filter(is_active=True).exclude(pk=row.pk)
    return everybody.order_by("first_name", "last_name", "username")


def _show(request: HttpRequest, row: Person, *, form: LetGoForm | None = None, status: int = 200) -> HttpResponse:
    theirs = queries.theirs(row)
    may_let_go = row.left_at is None and row != request.user
    if may_let_go and form is None:
        form = LetGoForm(theirs=theirs, people=_heirs(row))
    context = {
        "person": row,
        "theirs": theirs,
        "conflicts": queries.conflicts_now().filter(person=row).select_related("project"),
        "form": form if may_let_go else None,
    }
    return render(request, "people/detail.html", context, status=status)
