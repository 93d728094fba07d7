"""The trail: every change with who, when and why; each row opens to before and after."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Max, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from allocations import rules
from inventory.models import Event, EventSeal
from portal.forms.operate import TrailFilter
from portal.pages import newest_first


@login_required
@require_safe
def trail(request: HttpRequest) -> HttpResponse:
    """Events, newest first; the filters stand in the address."""
    rules.require(request.user, "see_trail")
    form = TrailFilter(request.GET)
    filters = form.cleaned_data if form.is_valid() else {}
    context = {
        "page": newest_first(_filtered(Event.objects.select_related("seal"), filters), request),
        "filters": {name: value for name, value in filters.items() if value},
        "form": form,
        "last_seal": EventSeal.objects.order_by("-position").first(),
        "unsealed": Event.objects.filter(pk__gt=_last_sealed()).count(),
    }
    return render(request, "trail/list.html", context)


def _last_sealed() -> int:
    return EventSeal.objects.aggregate(last=Max("event"))["last"] or 0


def _filtered(rows: QuerySet[Event], filters: dict[str, Any]) -> QuerySet[Event]:
    verb = filters.get("verb")
    if verb:
        rows = rows.filter(verb=verb) if "." in verb else rows.filter(verb__startswith=f"{verb}.")
    if filters.get("kind"):
        rows = rows.filter(subject_kind=filters["kind"])
    subject = filters.get("subject")
    if subject:
        rows = rows.filter(subject_id=subject) if filters.get("kind") else rows.filter(subject_label__icontains=subject)
    if filters.get("actor"):
        rows = rows.filter(actor__iexact=filters["actor"])
    return rows
