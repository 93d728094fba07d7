"""The trail: every change with who, when and why; each row opens to before and after; the sealed ones as a file."""

from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.db.models import Max, Q, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_safe

from allocations import rules
from allocations.models import Person
from inventory import trail as chain
from inventory.models import Event, EventSeal
from portal.forms.operate import TrailFilter
from portal.pages import newest_first
from portal.trail_rows import rows_of


@login_required
@require_safe
def trail(request: HttpRequest) -> HttpResponse:
    """Events, newest first; the filters stand in the address."""
    rules.require(request.user, "see_trail")
    form = TrailFilter(request.GET)
    filters = form.cleaned_data if form.is_valid() else {}
    page = newest_first(_filtered(Event.objects.select_related("seal"), filters), request)
    context = {
        "page": page,
        "rows": rows_of(page.rows),
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
        rows = rows.filter(Q(actor__iexact=filters["actor"]) | Q(actor_id__in=_people_called(filters["actor"])))
    return rows


def _people_called(text: str) -> QuerySet[Person]:
    people = Person.objects.all()
    for word in text.split():
        people = people.filter(
            Q(first_name__icontains=word) | Q(last_name__icontains=word) | Q(username__icontains=word)
        )
    return people.values("pk")
