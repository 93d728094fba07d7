"""Which budget is on the desk: those that a person decides about, the chosen one's board, the suggested set on it."""

from dataclasses import dataclass, replace
from typing import Any

from django.utils import timezone

from allocations import queries
from allocations.desk import suggest
from allocations.models import Person
from allocations.queries import desk as asked
from inventory.models import GpuModel
from portal.board.build import Board, board_of, told
from portal.board.facts import facts_of
from portal.forms.desk import Marks, Seen


@dataclass(frozen=True)
class Chosen:
    """The budgets to choose from, those with waiting pitches first; board and news of the one that is open."""

    tabs: list[dict[str, Any]]
    board: Board | None
    news: asked.Waiting | None


def chosen(person: Person, wanted: tuple[str, str], marks: Marks) -> Chosen:
    """The budget of that division (slug) and GPU model (name), else the one with most to decide."""
    divisions = asked.desk_divisions([mandate.role for mandate in queries.mandates_of(person)])
    competing = asked.competing(person, divisions)
    waiting = asked.waiting_by_budget(person, competing)
    models = list(GpuModel.objects.order_by("name"))
    nothing = asked.Waiting()
    counts = {
        (division, model): waiting.get((division.pk, model.pk), nothing).total
        for division in divisions
        for model in models
    }
    budgets = sorted(counts, key=lambda budget: -counts[budget])
    if not budgets:
        return Chosen([], None, None)
    division, model = next((each for each in budgets if (each[0].slug, each[1].name) == wanted), budgets[0])
    tabs = [
        {"division": each[0], "model": each[1], "waiting": counts[each], "is_current": each == (division, model)}
        for each in budgets
    ]
    facts = facts_of(
        person, division, model, competing, marks, models=models, now=timezone.now(), count=counts[division, model]
    )
    return Chosen(tabs, board_of(facts, marks), waiting.get((division.pk, model.pk)))


def with_suggestion(board: Board, marks: Marks) -> Board:
    """The board with the best set taken in place of what was marked of its model; other answers stay as marked."""
    own = [row for row in board.rows if not row.is_elsewhere]
    asks = [row.ask for row in own if not (row.is_declined or row.is_waitlisted)]
    found = suggest(board.budget.room, asks, board.weights)
    before = sum(board.weights[row.key] for row in own if row.is_taken and row.finding.fits)
    kept = [row.key for row in board.rows if row.is_elsewhere and row.is_taken]
    seen = {row.key: Seen(row.pitch.round, row.role) for row in board.rows}
    changed = replace(
        marks,
        taken={key: seen[key] for key in [*found.gpus, *kept]},
        gpus={**marks.gpus, **{key: str(gpus) for key, gpus in found.gpus.items()}},
    )
    after = board_of(board.facts, changed)
    after.suggestion = told(after, found, before)
    return after
