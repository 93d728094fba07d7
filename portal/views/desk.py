"""The decision desk: the pitches that compete for one budget, weighed against each other and decided in one act."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from allocations import queries, rules, sittings
from allocations.models import Scenario
from allocations.queries import desk as asked
from allocations.queries import record
from portal.board import chosen, with_suggestion
from portal.forms.desk import Marks, place_of
from portal.outcomes import MOST_DECIDED, Outcome, answers_of, decide_all, undo_all
from portal.pages import KEY_DIGITS
from portal.results_shown import results_shown


@login_required
@require_safe
def desk(request: HttpRequest) -> HttpResponse:
    """The budget that is asked for by `division` and `model`, as a scenario marks it where one is named."""
    scenario = _scenario(request)
    return show(request, Marks.from_kept(scenario.marks) if scenario else Marks(), scenario=scenario)


@login_required
@require_POST
def desk_try(request: HttpRequest) -> HttpResponse:
    """The same with what the person marked, or with the suggested set, or its numbers alone; nothing is written."""
    if request.POST.get("do") == "numbers":
        rules.require(request.user, "use_desk")
        with queries.one_look():
            board = chosen(request.user, _wanted(request), Marks.of(request.POST)).board
            return JsonResponse(board.data if board else {})
    return show(request, Marks.of(request.POST), suggested=request.POST.get("do") == "suggest")


@login_required
@require_POST
def desk_decide(request: HttpRequest) -> HttpResponse:
    """Every marked pitch that waits for the person is answered, in the order of the ranks, each on its own."""
    rules.require(request.user, "use_desk")
    marks = Marks.of(request.POST)
    answers = answers_of(request.user, marks)
    if not answers:
        return show(request, marks, refusal=_("Nothing to decide is marked: take a pitch, or decline one."), status=422)
    if len(answers) > MOST_DECIDED:
        refusal = _("%(n)s are marked. Decide at most %(most)s at once: nobody has read more than that in one go.")
        words = {"n": len(answers), "most": MOST_DECIDED}
        return show(request, marks, refusal=refusal % words, status=422)
    outcomes = decide_all(request.user, answers, marks, _misfits(request, marks))
    done = {outcome.key for outcome in outcomes if not outcome.is_refused}
    return show(request, marks.without(done), outcomes=outcomes)


@login_required
@require_POST
def desk_undo(request: HttpRequest) -> HttpResponse:
    """The answers of the last act count no more, as long as nothing has left the building."""
    rules.require(request.user, "use_desk")
    keys = [
        int(key) for key in request.POST.getlist("signed")[:MOST_DECIDED] if key.isdecimal() and len(key) < KEY_DIGITS
    ]
    return show(request, Marks(), outcomes=undo_all(request.user, keys))


@login_required
@require_POST
def desk_seen(request: HttpRequest) -> HttpResponse:
    """What is new from now on is told the next time."""
    rules.require(request.user, "use_desk")
    sittings.look(page=asked.PAGE, by=request.user)
    return redirect(_budget_address(request.POST))


@login_required
@require_POST
def pitch_opened(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The person has the pitch open; at the desk its whole text comes back, with the record of those who ask."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    sittings.open_pitch(pitch=row, by=request.user)
    if "desk" not in request.POST:
        return redirect_or_nothing(request, reverse("pitch", args=[public_id]))
    with queries.one_look():
        records = [
            (_("Project: %(name)s") % {"name": row.project.name}, record.record_of_project(row.project)),
            (_("Lead: %(name)s") % {"name": row.project.lead.name}, record.record_of_lead(row.project.lead)),
            (_("Pitched by %(name)s") % {"name": row.pitcher.name}, record.record_of_pitcher(row.pitcher)),
        ]
        return render(request, "desk/detail.html", {"pitch": row, "records": records, **results_shown(row)})


def redirect_or_nothing(request: HttpRequest, address: str) -> HttpResponse:
    """To the page without script; nothing where only the fact was told."""
    return HttpResponse(status=204) if request.htmx else redirect(address)  # type: ignore[attr-defined]


def show(
    request: HttpRequest,
    marks: Marks,
    *,
    scenario: Scenario | None = None,
    suggested: bool = False,
    outcomes: list[Outcome] | None = None,
    refusal: str = "",
    typed: dict[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    """The desk as it is marked; nothing is written from here on."""
    with queries.one_look():
        rules.require(request.user, "use_desk")
        context = _context(request, marks, suggested=suggested, outcomes=outcomes or [])
        context |= {
            "scenario": scenario,
            "has_named_another": "scenario" in request.GET
            and str(scenario and scenario.public_id) != request.GET["scenario"],
            "outcomes": outcomes,
            "undo_s": settings.UNDO_S,
            "can_undo": any(each.sign_off for each in outcomes or []),
            "refusal": refusal,
            "most": MOST_DECIDED,
        }
        context |= {"typed": typed or {}, "is_part": bool(request.htmx)}  # type: ignore[attr-defined]
        page = f"desk/desk.html{'#desk' if context['is_part'] else ''}"
        response = render(request, page, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _context(request: HttpRequest, marks: Marks, *, suggested: bool, outcomes: list[Outcome]) -> dict[str, Any]:
    on_desk = chosen(request.user, _wanted(request), marks)
    board = with_suggestion(on_desk.board, marks) if on_desk.board and suggested else on_desk.board
    refused = {outcome.key: outcome.sentence for outcome in outcomes if outcome.is_refused}
    for row in board.rows if board else []:
        row.refusal = refused.get(row.key, "")
    return {"tabs": on_desk.tabs, "board": board, "news": on_desk.news, "scenarios": list(asked.scenarios())}


def _wanted(request: HttpRequest) -> tuple[str, str]:
    typed = request.POST if request.method == "POST" else request.GET
    return typed.get("division", ""), typed.get("model", "")


def _misfits(request: HttpRequest, marks: Marks) -> dict[str, str]:
    """Key -> why an approval that is marked would not be kept; grants that are left out run still."""
    with queries.one_look():
        board = chosen(request.user, _wanted(request), replace(marks, ended=frozenset())).board
    why = _("It does not fit beside what is marked above it: %(outcome)s. Approve less, or put it on the waitlist.")
    return {row.key: why % {"outcome": row.outcome} for row in board.misfits} if board else {}


def _scenario(request: HttpRequest) -> Scenario | None:
    """The one that the address names, or the newer one of its name; a dropped one is as if it was not there."""
    try:
        wanted = UUID(request.GET.get("scenario", ""))
    except ValueError:
        return None
    return asked.newest_scenario(wanted)


def _budget_address(typed: Any) -> str:
    address = reverse("desk")
    query = place_of(typed)
    back = f"{address}?{query}" if query else address
    return back if url_has_allowed_host_and_scheme(back, allowed_hosts=None) else address
