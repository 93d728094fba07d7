"""A GPU's page: what it is, who has it and who shall, what it does and did, what was wrong with it."""

import json
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from allocations import rules
from allocations.models import Move
from allocations.queries import fleet as fleet_queries
from allocations.queries.fleet import Doing
from allocations.queries.occupants import occupants_of
from inventory import queries as facts
from inventory.models import Activity, Event, Finding, Gpu, Intrusion
from inventory.queries.usage import HOUR, SPAN, Span, by_five_minutes, by_hours, joined

DAY_SPANS = timedelta(hours=24)
MONTH = timedelta(days=30)
ROWS_SHOWN = 12  # of each kind of its past; the trail has the rest
LARGEST_KEY = 2**63 - 1
# What a verdict is shown as; where something else is shown, something else decided.
DOES: dict[str, tuple[str, ...]] = {
    Activity.State.ACTIVE: (Doing.ACTIVE,),
    Activity.State.LOW: (Doing.LOW,),
    Activity.State.HELD_IDLE: (Doing.IDLE,),
    Activity.State.EMPTY: (Doing.IDLE, Doing.FREE, Doing.ASSIGNED),
    Activity.State.GHOST: (Doing.GHOST,),
    Activity.State.HUNG: (Doing.HUNG,),
    Activity.State.UNKNOWN: (Doing.UNKNOWN,),
}
PARTS = {"gpu": "#now"}  # the id that htmx swaps -> the part of the page


@login_required
@require_safe
@vary_on_headers("HX-Target")
def gpu(request: HttpRequest, pk: int) -> HttpResponse:
    """The whole page, or the part that the live refresh asks for."""
    rules.require(request.user, "see_fleet")
    row = get_object_or_404(fleet_queries.one_unit(min(pk, LARGEST_KEY)))
    part = PARTS.get(request.htmx.target or "", "") if request.htmx else ""
    verdict = getattr(row, "activity", None)
    context: dict[str, Any] = {
        "gpu": row,
        "node": row.node,
        "reading": getattr(row, "reading", None),
        "verdict": verdict,
        "is_judged": verdict is not None and row.doing in DOES.get(verdict.state, ()),
        "occupants": occupants_of(row),
        "instances": list(Gpu.objects.filter(parent=row, retired_at=None).order_by("pk")),
        "findings": list(Finding.objects.filter(gpu=row).order_by("-ended_at", "-since")[:ROWS_SHOWN]),
        "stale_after_s": facts.stale_after_s(),
        "may_see_plans": rules.can(request.user, "see_trail"),
        "intrusions": list(Intrusion.objects.filter(gpu=row)[:ROWS_SHOWN]),
    }
    if not part:
        context |= _past(row)
    return render(request, f"gpus/detail.html{part}", context)


def _past(row: Gpu) -> dict[str, Any]:
    now = timezone.now()
    day = by_five_minutes(row, since=_begin(now - DAY_SPANS, SPAN), until=_begin(now, SPAN))
    month = by_hours(row, since=_begin(now - MONTH, HOUR), until=_begin(now, HOUR))
    moves = Move.objects.filter(gpu=row).select_related("gpu", "project", "plan").order_by("-pk")
    events = Event.objects.filter(subject_kind="gpu", subject_id=str(row.pk))
    return {
        "charts": [chart for chart in (_chart("day", day, HOUR), _chart("month", month, 24 * HOUR)) if chart],
        "moves": list(moves[:ROWS_SHOWN]),
        "events": list(events[:ROWS_SHOWN]),
    }


def _begin(at: datetime, size: timedelta) -> datetime:
    """The begin of the span of five minutes or of the hour."""
    return at.replace(minute=at.minute // 5 * 5 if size == SPAN else 0, second=0, microsecond=0)


def _chart(name: str, spans: list[Span], row: timedelta) -> dict[str, Any] | None:
    """What the chart draws, as columns, and the same in rows to read; None where nothing is known."""
    if not any(span.known_s or span.power_w is not None for span in spans):
        return None
    columns = {
        "at": [int(span.begins_at.timestamp()) for span in spans],
        "use": [_rounded(span.util_pct) for span in spans],
        "peak": [_rounded(span.util_max_pct) for span in spans],
        "power": [_rounded(span.power_w) for span in spans],
    }
    return {"name": name, "columns": json.dumps(columns, separators=(",", ":")), "rows": joined(spans, row)[::-1]}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
