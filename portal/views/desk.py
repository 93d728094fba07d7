"""The decision desk: the pitches that compete for one budget, weighed against each other and decided in one act."""

from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from allocations import pitches as decisions
from allocations import queries, rules
from allocations.desk import suggest
from allocations.errors import AllocationsError
from allocations.models import Division, Pitch, Role, SignOff
from allocations.queries import desk as asked
from inventory.models import GpuModel
from portal.board import Board, Viewer, board_of, told
from portal.forms.desk import Marks, Seen
from portal.forms.fields import reason_field
from portal.problems import problem_of

MOST_DECIDED = 20  # in one act: more than a sitting can have read; the rest stays marked for the next press


@dataclass(frozen=True)
class Outcome:
    """What came of one answer: what it is about, the state for its pill, the sentence, whether it was refused."""

    key: str
    title: str
    address: str
    state: str
    sentence: str
    is_refused: bool = False


@login_required
@require_GET
def desk(request: HttpRequest) -> HttpResponse:
    """The budget that is asked for by `division` and `model`; else the one where most waits for the person."""
    return _show(request, Marks())


@login_required
@require_POST
def desk_try(request: HttpRequest) -> HttpResponse:
    """The same with what the person marked, or with the suggested set; nothing is written."""
    return _show(request, Marks.of(request.POST), suggested=request.POST.get("do") == "suggest")


@login_required
@require_POST
def desk_decide(request: HttpRequest) -> HttpResponse:
    """Every marked pitch that waits for the person is answered, in the order of the ranks, each on its own."""
    rules.require(request.user, "use_desk")
    marks = Marks.of(request.POST)
    answers = _answers(request, marks)
    if not answers:
        return _show(
            request, marks, refusal=_("Nothing to decide is marked: take a pitch, or decline one."), status=422
        )
    if len(answers) > MOST_DECIDED:
        refusal = _("%(n)s are marked. Decide at most %(most)s at once: nobody has read more than that in one go.")
        words = {"n": len(answers), "most": MOST_DECIDED}
        return _show(request, marks, refusal=refusal % words, status=422)
    outcomes = [_decide(request, pitch, seen, marks) for pitch, seen in answers]
    done = {outcome.key for outcome in outcomes if not outcome.is_refused}
    left = replace(marks, **{name: _without(getattr(marks, name), done) for name in ("taken", "declined", "reasons")})
    return _show(request, left, outcomes=outcomes)


def _answers(request: HttpRequest, marks: Marks) -> list[tuple[Pitch, Seen]]:
    """What is to be decided, highest rank first; marked ones that wait for others are only weighed."""
    seen = {key: value for key, value in {**marks.taken, **marks.declined}.items() if value.role}
    rows = list(queries.pitches_visible_to(request.user).filter(public_id__in=seen).order_by("submitted_at", "pk"))
    rows.sort(key=lambda pitch: marks.rank_of(str(pitch.public_id), 0))
    return [(pitch, seen[str(pitch.public_id)]) for pitch in rows]


def _decide(request: HttpRequest, pitch: Pitch, seen: Seen, marks: Marks) -> Outcome:
    key = str(pitch.public_id)
    declines = key in marks.declined
    outcome = Outcome(key, pitch.title, reverse("pitch", args=[pitch.public_id]), "", "")
    typed = marks.gpus.get(key, "").strip()
    if declines and key in marks.taken:
        return replace(outcome, sentence=_("Marked both to take and to decline: choose one."), is_refused=True)
    if not declines and not (typed.isdecimal() and len(typed) < 10):
        return replace(outcome, sentence=_("Type how many GPUs, as a whole number."), is_refused=True)
    role = Role.objects.filter(slug=seen.role).first()
    if role is None:
        return replace(outcome, sentence=_("Nobody has that role any more."), is_refused=True)
    try:
        reason = reason_field(required=False).clean(marks.reasons.get(key, ""))
    except ValidationError as error:
        return replace(outcome, sentence=" ".join(error.messages), is_refused=True)
    try:
        decisions.sign_off(
            pitch=pitch,
            by=request.user,
            role=role,
            verdict=SignOff.Verdict.DECLINE if declines else SignOff.Verdict.APPROVE,
            round=seen.round,
            gpus=None if declines else int(typed),
            reason=reason,
        )
    except AllocationsError as refusal:
        return replace(outcome, sentence=problem_of(refusal).detail, is_refused=True)
    pitch.refresh_from_db()
    return replace(outcome, state=pitch.state, sentence=_sentence(pitch))


def _sentence(pitch: Pitch) -> str:
    if pitch.state == Pitch.State.GRANTED:
        words = {"gpus": pitch.offered_gpus, "model": pitch.model}
        return _("Granted: %(gpus)s %(model)s. It is now a need until GPUs are assigned.") % words
    if pitch.state == Pitch.State.DECLINED:
        return _("Declined, and the pitcher is told why.")
    roles = ", ".join(role.name for role in queries.roles_that_wait(pitch))
    return _("Signed for %(gpus)s. It waits for %(roles)s.") % {"gpus": pitch.offered_gpus, "roles": roles}


def _without(marks: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in marks.items() if key not in keys}


def _show(
    request: HttpRequest,
    marks: Marks,
    *,
    suggested: bool = False,
    outcomes: list[Outcome] | None = None,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    rules.require(request.user, "use_desk")
    roles = queries.roles_of(request.user)
    divisions = asked.desk_divisions(roles)
    viewer = Viewer(request.user, roles, asked.competing(request.user, divisions))
    tabs, board = _board(request, viewer, divisions, marks)
    if board and suggested:
        board = _with_suggestion(viewer, board, marks)
    for outcome in outcomes or []:
        for row in board.rows if board else []:
            if outcome.is_refused and row.key == outcome.key:
                row.refusal = outcome.sentence
    context = {
        "tabs": tabs,
        "board": board,
        "outcomes": outcomes,
        "refusal": refusal,
        "most": MOST_DECIDED,
        "is_part": bool(request.htmx),  # type: ignore[attr-defined]
    }
    response = render(request, f"desk/desk.html{'#desk' if context['is_part'] else ''}", context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _board(
    request: HttpRequest, viewer: Viewer, divisions: list[Division], marks: Marks
) -> tuple[list[dict[str, Any]], Board | None]:
    """The budgets to choose from, those with waiting pitches first, and the chosen one's board."""
    models = list(GpuModel.objects.order_by("name"))
    waiting = asked.waiting_by_budget(viewer.competing)
    budgets = [(division, model) for division in divisions for model in models]
    budgets.sort(key=lambda budget: -waiting.get((budget[0].pk, budget[1].pk), 0))
    if not budgets:
        return [], None
    typed = request.POST if request.method == "POST" else request.GET
    wanted = (typed.get("division", ""), typed.get("model", ""))
    chosen = next((budget for budget in budgets if (budget[0].slug, budget[1].name) == wanted), budgets[0])
    tabs = [_tab(division, model, waiting, chosen) for division, model in budgets]
    return tabs, board_of(viewer, *chosen, marks, now=timezone.now())


def _tab(
    division: Division, model: GpuModel, waiting: dict[tuple[int, int], int], chosen: tuple[Division, GpuModel]
) -> dict[str, Any]:
    return {
        "division": division,
        "model": model,
        "waiting": waiting.get((division.pk, model.pk), 0),
        "is_current": (division, model) == chosen,
    }


def _with_suggestion(viewer: Viewer, board: Board, marks: Marks) -> Board:
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
    after = board_of(viewer, board.division, board.model, changed, now=board.budget.edges[0])
    after.suggestion = told(after, found, before)
    return after
