"""The decision desk: the pitches that compete for one budget, weighed against each other and decided in one act."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from allocations import queries, rules, sittings
from allocations.desk import suggest
from allocations.models import Division, Scenario
from allocations.queries import desk as asked
from allocations.queries import record
from inventory.models import GpuModel
from portal.board import Board, board_of, facts_of, told
from portal.forms.desk import Marks, Seen, place_of
from portal.outcomes import MOST_DECIDED, Outcome, answers_of, decide_all, undo_all
from portal.pages import KEY_DIGITS
from portal.results_shown import results_shown

Budgets = list[dict[str, Any]]


@login_required
@require_safe
def desk(request: HttpRequest) -> HttpResponse:
    """The budget that is asked for by `division` and `model`, as a scenario marks it where one is named."""
    scenario = _scenario(request)
    return show(request, Marks.from_kept(scenario.marks) if scenario else Marks(), scenario=scenario)


@login_required
@require_POST
def desk_try(request: HttpRequest) -> HttpResponse:
    """The same with what the person marked, or with the suggested set; nothing is written."""
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
    outcomes = decide_all(request.user, answers, marks)
    done = {outcome.key for outcome in outcomes if not outcome.is_refused}
    left = replace(marks, **{name: _without(getattr(marks, name), done) for name in ("taken", "declined", "reasons")})
    return show(request, left, outcomes=outcomes)


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
    mandates = queries.mandates_of(request.user)
    divisions = asked.desk_divisions([mandate.role for mandate in mandates])
    competing = asked.competing(request.user, divisions)
    waiting = asked.waiting_by_budget(request.user, competing)
    tabs, board = _board(request, competing, divisions, waiting, marks)
    if board and suggested:
        board = _with_suggestion(board, marks)
    refused = {outcome.key: outcome.sentence for outcome in outcomes if outcome.is_refused}
    for row in board.rows if board else []:
        row.refusal = refused.get(row.key, "")
    news = waiting.get((board.division.pk, board.model.pk)) if board else None
    return {"tabs": tabs, "board": board, "news": news, "scenarios": list(asked.scenarios())}


def _scenario(request: HttpRequest) -> Scenario | None:
    """The one that the address names; one that was dropped is as if it was not there."""
    try:
        wanted = UUID(request.GET.get("scenario", ""))
    except ValueError:
        return None
    return asked.scenarios().filter(public_id=wanted).first()


def _without(marks: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in marks.items() if key not in keys}


def _budget_address(typed: Any) -> str:
    address = reverse("desk")
    query = place_of(typed)
    back = f"{address}?{query}" if query else address
    return back if url_has_allowed_host_and_scheme(back, allowed_hosts=None) else address


def _board(
    request: HttpRequest,
    competing: asked.Competing,
    divisions: list[Division],
    waiting: dict[tuple[int, int], asked.Waiting],
    marks: Marks,
) -> tuple[Budgets, Board | None]:
    """The budgets to choose from, those with waiting pitches first, and the chosen one's board."""
    models = list(GpuModel.objects.order_by("name"))
    nothing = asked.Waiting()
    counts = {
        (division, model): waiting.get((division.pk, model.pk), nothing).total
        for division in divisions
        for model in models
    }
    budgets = sorted(counts, key=lambda budget: -counts[budget])
    if not budgets:
        return [], None
    typed = request.POST if request.method == "POST" else request.GET
    wanted = (typed.get("division", ""), typed.get("model", ""))
    chosen = next((budget for budget in budgets if (budget[0].slug, budget[1].name) == wanted), budgets[0])
    tabs = [
        {"division": division, "model": model, "waiting": counts[division, model], "is_current": budget == chosen}
        for budget in budgets
        for division, model in [budget]
    ]
    facts = facts_of(request.user, *chosen, competing, now=timezone.now(), count=counts[chosen])
    return tabs, board_of(facts, marks)


def _with_suggestion(board: Board, marks: Marks) -> Board:
    """The board with the best set taken in place of what was marked; what is marked to be declined stays so."""
    asks = [row.ask for row in board.rows if not row.is_declined]
    found = suggest(board.budget.room, asks, board.weights)
    before = sum(board.weights[row.key] for row in board.rows if row.is_taken and row.finding.fits)
    seen = {row.key: Seen(row.pitch.round, row.role) for row in board.rows}
    changed = replace(
        marks,
        taken={key: seen[key] for key in found.gpus},
        gpus={**marks.gpus, **{key: str(gpus) for key, gpus in found.gpus.items()}},
    )
    after = board_of(board.facts, changed)
    after.suggestion = told(after, found, before)
    return after
