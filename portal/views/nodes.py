"""A node's page, and taking a node out of use and back."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from allocations import rules
from allocations.models import Move
from allocations.queries import fleet as fleet_queries
from inventory import cordons
from inventory import queries as facts
from inventory.errors import WrongCordon
from inventory.models import Event, Node
from portal.forms.operate import CordonForm, LiftForm
from portal.problems import refuse

MOVES_SHOWN = 12  # the last days of a node; the trail has the rest
EVENTS_SHOWN = 8
PARTS = {"beside": "#panel", "node": "#cards"}  # the id that htmx swaps -> the part of the page


@login_required
@require_safe
@vary_on_headers("HX-Target")
def node(request: HttpRequest, name: str) -> HttpResponse:
    """The whole page, or the part that the map and the live refresh ask for."""
    return _page(request, name, CordonForm())


@login_required
@require_POST
def node_cordon(request: HttpRequest, name: str) -> HttpResponse:
    """The node is out of use; a form that cannot be taken comes back with what was typed."""
    row = get_object_or_404(Node, name=name)
    rules.require(request.user, "cordon_node", row)
    form = CordonForm(request.POST)
    if not form.is_valid():
        return _page(request, name, form, status=422)
    try:
        cordons.set_cordon(node=row, by=request.user, reason=form.cleaned_data["reason"], until=form.until())
    except WrongCordon as error:
        return _page(request, name, form, status=refuse(form, error))
    messages.success(
        request, _("%(node)s is cordoned: no plan takes its GPUs. What runs there goes on.") % {"node": row}
    )
    return redirect("node", name)


@login_required
@require_POST
def node_uncordon(request: HttpRequest, name: str) -> HttpResponse:
    """The node may be used again."""
    row = get_object_or_404(Node, name=name)
    rules.require(request.user, "cordon_node", row)
    form = LiftForm(request.POST)
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    cordons.lift_cordon(node=row, by=request.user, reason=reason)
    messages.success(request, _("%(node)s may be used again.") % {"node": row})
    return redirect("node", name)


def _page(request: HttpRequest, name: str, form: CordonForm, status: int = 200) -> HttpResponse:
    rules.require(request.user, "see_fleet")
    row = get_object_or_404(Node.objects.select_related("model"), name=name)
    now = timezone.now()
    gpus = list(fleet_queries.node_units(row, now=now))
    planned = list(facts.cordons_now(row))
    context: dict[str, Any] = {
        "node": row,
        "gpus": gpus,
        "chosen": int(chosen) if (chosen := request.GET.get("gpu", "")[:18]).isdecimal() else None,
        "cards_seen": sum(gpu.lost_at is None and gpu.parent_id is None for gpu in gpus),
        "cordon": next((cordon for cordon in planned if cordon.during.lower <= now), None),
        "cordons_to_come": [cordon for cordon in planned if cordon.during.lower > now],
        "faults": list(facts.recent_faults(row)),
        "moves": list(_moves(row)),
        "findings": list(facts.findings_of(row)),
        "events": list(Event.objects.filter(subject_kind="node", subject_id=str(row.pk))[:EVENTS_SHOWN]),
        "may_see_plans": rules.can(request.user, "see_trail"),
        "may_cordon": rules.can(request.user, "cordon_node", row),
        "enrolment": facts.enrolment_of(row),
        "may_enrol": rules.can(request.user, "enrol_node", row),
        "stale_after_s": facts.stale_after_s(),
        "form": form,
    }
    part = PARTS.get(request.htmx.target or "", "") if request.htmx and request.method != "POST" else ""
    return render(request, f"nodes/detail.html{part}", context, status=status)


def _moves(row: Node) -> QuerySet[Move]:
    moves = Move.objects.filter(gpu__node=row).select_related("gpu", "project", "plan")
    return moves.order_by("-pk")[:MOVES_SHOWN]
