"""How far the agents of each island go, and what enforcing would end there."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from allocations import rules
from inventory import modes
from inventory import queries as facts
from portal.forms.enrolment import ModeForm
from portal.views.acting import refused

INTRUSIONS_SHOWN = 200  # as many as somebody reads; the number says how many more there are


@login_required
@require_safe
def islands(request: HttpRequest) -> HttpResponse:
    """All islands that have agents."""
    rules.require(request.user, "see_fleet")
    return render(request, "modes/list.html", {"islands": facts.island_modes()})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def island(request: HttpRequest) -> HttpResponse:
    """One island, named in the address: who would lose access, what is missing, and the form for another mode."""
    rules.require(request.user, "see_fleet")
    name = request.GET.get("island", "")
    row = next((row for row in facts.island_modes() if row.island == name), None)
    if row is None:
        raise Http404
    status, form = 200, ModeForm()
    if request.method == "POST":
        rules.require(request.user, "set_mode")
        form = ModeForm(request.POST)
        refusal = refused(request, form, lambda: _set(request, name, form))
        if refusal is None:
            return redirect("modes")
        status = refusal
    found = facts.would_have_ended(name)
    context = {
        "island": row,
        "form": form,
        "may_set": rules.can(request.user, "set_mode"),
        "intrusions": found[:INTRUSIONS_SHOWN],
        "intrusions_count": found.count(),
        "missing": facts.missing_for_enforcement(name),
        "days": facts.SHADOW_DAYS,
    }
    return render(request, "modes/island.html", context, status=status)


def _set(request: HttpRequest, island: str, form: ModeForm) -> str:
    told, nodes = form.cleaned_data, facts.with_agents().filter(island=island)
    changed = len(modes.set_mode(nodes=nodes, mode=told["mode"], by=request.user, reason=told["reason"]))
    if not changed:
        return _("All its nodes were meant to work so already.")
    return ngettext(
        "%(count)d node is told now. This page shows when it works so.",
        "%(count)d nodes are told now. This page shows when they work so.",
        changed,
    ) % {"count": changed}
