"""How a node's agent joins, gets a new token, and is believed no longer."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

from allocations import rules
from inventory import enrolment
from inventory.errors import InventoryError
from inventory.models import Node
from portal.forms.enrolment import RevokeForm
from portal.forms.operate import LiftForm
from portal.problems import problem_of


@login_required
@require_POST
@never_cache
@sensitive_variables("code")
def join_code(request: HttpRequest, name: str) -> HttpResponse:
    """The code, shown this once."""
    node = _node(request, name)
    row, code = enrolment.make_code(node=node, by=request.user)
    context = {"node": node, "code": code, "expires_at": row.expires_at, "portal": settings.PORTAL_URL}
    return render(request, "nodes/join_code.html", context)


@login_required
@require_POST
def revoke_code(request: HttpRequest, name: str) -> HttpResponse:
    """The open code is good no longer."""
    node = _node(request, name)
    form = LiftForm(request.POST)
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    enrolment.revoke_codes(node=node, by=request.user, reason=reason)
    messages.success(request, _("The join code of %(node)s is good no longer.") % {"node": node})
    return redirect("node", name)


@login_required
@require_POST
def renew_token(request: HttpRequest, name: str) -> HttpResponse:
    """The node and the portal share a new token; a node that cannot be told keeps the old one, and the page says so."""
    node = _node(request, name)
    try:
        enrolment.rotate_token(node=node, by=request.user)
    except InventoryError as error:
        messages.error(request, _("The token is as it was. %(why)s") % {"why": problem_of(error).detail})
    else:
        messages.success(request, _("%(node)s has a new token.") % {"node": node})
    return redirect("node", name)


@login_required
@require_POST
def revoke(request: HttpRequest, name: str) -> HttpResponse:
    """The agent is asked no longer."""
    node = _node(request, name)
    form = RevokeForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Say why: everybody who looks at the node reads it."))
        return redirect("node", name)
    enrolment.revoke_node(node=node, by=request.user, reason=form.cleaned_data["reason"])
    messages.success(request, _("%(node)s is asked no longer. What runs there goes on.") % {"node": node})
    return redirect("node", name)


def _node(request: HttpRequest, name: str) -> Node:
    node = get_object_or_404(Node, name=name)
    rules.require(request.user, "enrol_node", node)
    return node
