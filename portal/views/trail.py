"""The trail: every change with who, when and why; each row opens to before and after; the sealed ones as a file."""

from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.db.models import Max, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_safe

from allocations import rules
from inventory import trail as chain
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


@login_required
@require_GET
def trail_export(request: HttpRequest) -> StreamingHttpResponse:
    """The sealed events that the filters leave, as JSON lines in the chain's order; as long as the trail may be."""
    rules.require(request.user, "see_trail")
    form = TrailFilter(request.GET)
    rows = _filtered(Event.objects.all(), form.cleaned_data if form.is_valid() else {})
    headers = {"Content-Disposition": 'attachment; filename="trail.jsonl"'}
    return StreamingHttpResponse(_lines(rows), content_type="application/x-ndjson", headers=headers)


async def _lines(rows: QuerySet[Event]) -> AsyncIterator[str]:
    position = 0
    # Batch by batch: a cursor held open while somebody downloads slowly would hold back the database's clean-up.
    while batch := await sync_to_async(chain.exported_after)(rows, position):
        yield "".join(f"{line}\n" for _position, line in batch)
        position = batch[-1][0]


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
