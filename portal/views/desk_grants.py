"""Running grants at the desk: shrunk or ended there, signed there, with everything else on the desk left as marked."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from allocations import changes as decisions
from allocations import queries, rules
from allocations.days import start_of
from allocations.errors import AllocationsError, NotAllowed
from allocations.grants import site_zone
from allocations.models import Grant, GrantChange, Role
from portal.changes_shown import changes_of
from portal.forms import ChangeForm, SignChangeForm
from portal.forms.desk import Marks, place_of
from portal.problems import refuse
from portal.views.desk import show


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def desk_change(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The grant with what would sign a smaller one or its end; sent, that is asked for, and signed where one may."""
    row = _grant(request, public_id)
    rules.require(request.user, "ask_change", row)
    if request.method != "POST":
        return _panel(request, row, change_form=_change_form(row, keeps=request.GET.get(f"keeps-{public_id}", "")))

    def decide(said: dict[str, Any]) -> str:
        day = said["takes_effect_on"]
        at = start_of(day, site_zone()) if day else None
        change = decisions.ask_change(
            grant=row, by=request.user, gpus=said["gpus"], takes_effect_at=at, reason=said["reason"]
        )
        if _own_role(request, list(change.roles.all())):
            decisions.sign_change(change=change, by=request.user)
        return _told(change)

    return _answer(request, row, "change_form", ChangeForm(request.POST, prefix="change"), decide)


@login_required
@require_POST
def desk_change_sign(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The person's signature is under the change of a grant, or it is declined."""
    change = get_object_or_404(GrantChange.objects.select_related("grant__project", "asked_by"), public_id=public_id)
    row = _grant(request, change.grant.public_id)
    rules.require(request.user, "sign_change", change)

    def decide(said: dict[str, Any]) -> str:
        role = Role.objects.filter(slug=said["role"]).first()
        decisions.sign_change(change=change, by=request.user, verdict=said["verdict"], role=role, reason=said["reason"])
        return _told(change)

    return _answer(request, row, f"sign_form_{change.pk}", SignChangeForm(request.POST), decide)


def _answer(
    request: HttpRequest, row: Grant, name: str, form: forms.Form, decide: Callable[[dict[str, Any]], str]
) -> HttpResponse:
    """Decided, and the desk as it was marked; or the panel again with what was typed and why not."""
    status = 422
    if form.is_valid():
        try:
            messages.success(request, decide(form.cleaned_data))
        except NotAllowed:
            raise
        except AllocationsError as refusal:
            status = refuse(form, refusal)
        else:
            return _desk_again(request, row)
    return _panel(request, _grant(request, row.public_id), status=status, **{name: form})


def _desk_again(request: HttpRequest, row: Grant) -> HttpResponse:
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(_back(row))
    marks = Marks.of(request.POST)
    row.refresh_from_db()
    if not row.changes.filter(state=GrantChange.State.ASKED).exists():  # the bar has it now: no longer a what-if
        marks = replace(marks, ended=marks.ended - {str(row.public_id)})
    return show(request, marks)


def _panel(request: HttpRequest, row: Grant, *, status: int = 200, **typed: Any) -> HttpResponse:
    own = _own_role(request, decisions.signers_needed(row, keeps=True))
    changes = changes_of(row, request.user, typed)
    asked = {item.change.kind for item in changes if item.is_open}
    context = {
        "grant": row,
        "changes": [item for item in changes if item.change.kind in GrantChange.LEAD_IS_HEARD],
        "may_change": not asked & set(GrantChange.LEAD_IS_HEARD),
        "own_role": own,
        "to_shrink": _names(decisions.signers_needed(row, keeps=True)),
        "to_end": _names(decisions.signers_needed(row, keeps=False)),
        "back": _back(row),
        "is_part": request.htmx,  # type: ignore[attr-defined]
        "change_form": _change_form(row),
        **typed,
    }
    part = "#panel" if context["is_part"] else ""
    response = render(request, f"desk/change.html{part}", context, status=status)
    if context["is_part"] and request.method == "POST":
        response.headers["HX-Retarget"], response.headers["HX-Reswap"] = "#desk-change", "innerHTML show:top"
    patch_vary_headers(response, ["HX-Request"])
    return response


def _change_form(row: Grant, *, keeps: str = "") -> ChangeForm:
    """Filled in as it was weighed at the desk; else with what the grant has, and nothing chosen."""
    weighed = {"kind": GrantChange.Kind.SHRINK, "gpus": keeps}
    return ChangeForm(prefix="change", initial=weighed if keeps else {"gpus": row.gpus})


def _grant(request: HttpRequest, public_id: UUID) -> Grant:
    rows = queries.grants_visible_to(request.user).select_related(
        "project__division", "project__lead", "model", "pitch"
    )
    return get_object_or_404(rows, public_id=public_id)


def _own_role(request: HttpRequest, roles: list[Role]) -> Role | None:
    """The role among these in which the person signs now."""
    pks = {role.pk for role in roles}
    return next((each.role for each in queries.mandates_of(request.user) if each.role.pk in pks), None)


def _told(change: GrantChange) -> str:
    if change.state != GrantChange.State.ASKED:
        return _("%(project)s: %(state)s.") % {"project": change.grant.project, "state": change.get_state_display()}
    signed = {each.role_id for each in change.sign_offs.all()}
    roles = ", ".join(role.name for role in change.roles.all() if role.pk not in signed)
    return _("Asked. The lead is told; it waits for %(roles)s.") % {"roles": roles}


def _names(roles: list[Role]) -> str:
    return ", ".join(role.name for role in roles) or _("nobody, as no policy names one")


def _back(row: Grant) -> str:
    return f"{reverse('desk')}?{place_of({'division': row.project.division.slug, 'model': row.model.name})}"
