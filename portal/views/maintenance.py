"""Nodes kept out of use, now or from a day on: listed, set for nodes or whole islands at once, lifted."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from allocations import rules
from inventory import cordons
from inventory import queries as facts
from portal.forms.health import LiftWindowForm, WindowForm
from portal.views.acting import refused


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def windows(request: HttpRequest) -> HttpResponse:
    """All that is out of use or will be, and for ops the form; `?where=` fills it in."""
    rules.require(request.user, "see_fleet")
    if request.method != "POST":
        return _page(request, WindowForm(initial={"where": request.GET.get("where", "")[:20_000]}))
    rules.require(request.user, "cordon_node")
    form = WindowForm(request.POST)

    def act() -> str:
        reason, span = form.cleaned_data["reason"], {"since": form.since(), "until": form.until()}
        made = cordons.set_cordons(nodes=form.nodes, by=request.user, reason=reason, **span)
        return ngettext(
            "%(n)d node is kept out of use. What runs there goes on.",
            "%(n)d nodes are kept out of use. What runs there goes on.",
            len(made),
        ) % {"n": len(made)}

    status = refused(request, form, act)
    return redirect("maintenance") if status is None else _page(request, form, status)


@login_required
@require_POST
def lift(request: HttpRequest) -> HttpResponse:
    """What was set at once may be used again, or will not be kept out of use."""
    rules.require(request.user, "cordon_node")
    form = LiftWindowForm(request.POST)

    def act() -> str:
        told = form.cleaned_data
        found = facts.cordons_of_act(starts_at=told["starts_at"], reason=told["because"])
        lifted = cordons.lift_cordons(cordons=found, by=request.user)
        return ngettext("%(n)d node may be used.", "%(n)d nodes may be used.", len(lifted)) % {"n": len(lifted)}

    status = refused(request, form, act)
    if status is None:
        return redirect("maintenance")
    return _page(request, WindowForm(), status, refusal=form)


def _page(
    request: HttpRequest, form: WindowForm, status: int = 200, refusal: LiftWindowForm | None = None
) -> HttpResponse:
    context = {
        "form": form,
        "refusal": refusal,
        "windows": facts.nodes_out(),
        "islands": facts.islands(),
        "may_cordon": rules.can(request.user, "cordon_node"),
        "title": _("Maintenance"),
    }
    return render(request, "health/maintenance.html", context, status=status)
