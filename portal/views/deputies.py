"""Deputies: who stands in for whom now and later, setting one, ending one."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from allocations import deputies as decisions
from allocations import queries, rules
from allocations.days import day_of, plus_days, start_of
from allocations.grants import site_zone
from allocations.models import Deputy, Person, RoleHolder
from portal.forms import DeputyForm, EndDeputyForm
from portal.views.acting import refused

MOST_SHOWN = 200  # more deputyships at once than any lab has roles that sign


@login_required
@require_safe
def deputies(request: HttpRequest) -> HttpResponse:
    """Who stands in for whom, and the form for another; for those who sign or administer."""
    rules.require(request.user, "see_deputies")
    today = day_of(timezone.now(), site_zone())
    return _show(request, _form(request, None, initial={"starts_on": today}))


@login_required
@require_POST
def deputy_set(request: HttpRequest) -> HttpResponse:
    """Somebody stands in for a holder of a role for some days, the last one included."""
    rules.require(request.user, "see_deputies")
    form = _form(request, request.POST)

    def set_it() -> str:
        row = _set(form, request.user)
        words = {"deputy": row.deputy.name, "principal": row.principal.name, "role": row.role.name}
        return _("%(deputy)s stands in for %(principal)s as %(role)s. They know.") % words

    status = refused(request, form, set_it)
    return redirect("deputies") if status is None else _show(request, form, status=status)


@login_required
@require_POST
def deputy_end(request: HttpRequest, pk: int) -> HttpResponse:
    """The deputy signs nothing more for the holder; what was signed stands."""
    rules.require(request.user, "see_deputies")
    row = get_object_or_404(queries.deputies_now_and_later(), pk=pk)
    form = EndDeputyForm(request.POST, prefix=f"end-{pk}")

    def end_it() -> str:
        decisions.end_deputy(deputy_row=row, by=request.user, reason=form.cleaned_data["reason"])
        return _("Ended. %(deputy)s has been told.") % {"deputy": row.deputy.name}

    status = refused(request, form, end_it)
    if status is None:
        return redirect("deputies")
    return _show(request, _form(request, None), status=status, ending={pk: form})


def _set(form: DeputyForm, by: Person) -> Deputy:
    typed, zone = form.cleaned_data, site_zone()
    return decisions.set_deputy(
        principal=typed["holder"].person,
        deputy=typed["deputy"],
        role=typed["holder"].role,
        starts_at=start_of(typed["starts_on"], zone),
        until=plus_days(start_of(typed["until_on"], zone), 1, zone),
        by=by,
        reason=typed["reason"],
    )


def _form(request: HttpRequest, data: Any, *, initial: dict[str, Any] | None = None) -> DeputyForm:
    people = Person.objects.filter(is_active=True).order_by("first_name", "last_name", "username")
    return DeputyForm(data, holders=_holders(request.user), people=people, initial=initial)


def _holders(person: Person) -> QuerySet[RoleHolder]:
    """Whom the person may give a deputy, in which role; oneself first."""
    return queries.holders_to_stand_in_for(
        None if rules.can(person, "administer") else queries.roles_of(person)
    ).order_by("role", "person__first_name", "person__username")


def _show(
    request: HttpRequest, form: DeputyForm, *, status: int = 200, ending: dict[int, EndDeputyForm] | None = None
) -> HttpResponse:
    rows = list(queries.deputies_now_and_later()[:MOST_SHOWN])
    administers, roles, now = rules.can(request.user, "administer"), queries.roles_of(request.user), timezone.now()
    shown = [
        {
            "deputy": row,
            "is_now": row.during.lower <= now,
            "may_end": administers or row.role in roles or row.principal_id == request.user.pk,
            "form": (ending or {}).get(row.pk) or EndDeputyForm(prefix=f"end-{row.pk}"),
        }
        for row in rows
    ]
    may_set = form.fields["holder"].queryset.exists()  # type: ignore[attr-defined]
    context = {"rows": shown, "form": form, "may_set": may_set}
    return render(request, "deputies/list.html", context, status=status)
