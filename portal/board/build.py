"""The board: one budget and the pitches that compete for it, judged as somebody marked them."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from allocations import grants
from allocations.desk import Ask, Judgement, Suggestion, judge
from allocations.models import Division
from allocations.queries import desk
from inventory.models import GpuModel
from portal.board.budget import WEEK, WEEKS, Budget, budget_of
from portal.board.rows import Row, Viewer, rows_of
from portal.board.weeks import CHART_HEIGHT, Week, weeks_of
from portal.board.words import day_of, left_of, numbers_of, words
from portal.forms.desk import Marks
from portal.templatetags.allot import number

MOST_ROWS = 200  # what one sitting can weigh against each other; those that wait longest
HEADROOM = 1.25  # what stands over the share must be seen over it


@dataclass
class Board:
    """All that the desk shows of one budget. `left_gpus` is what the tightest moment of the 26 weeks leaves."""

    division: Division
    model: GpuModel
    budget: Budget
    rows: list[Row]
    more: int
    top: float
    weeks: list[Week]
    judgement: Judgement
    summary: str
    left_gpus: int
    suggestion: "Told | None" = None

    @property
    def asks(self) -> list[Ask]:
        """The asks in the order of their ranks."""
        return [row.ask for row in self.rows]

    @property
    def weights(self) -> dict[str, int]:
        """What each row counts in the person's ranking: the last one 1, each above it one more."""
        return {row.key: len(self.rows) - place for place, row in enumerate(self.rows)}

    @property
    def data(self) -> dict[str, Any]:
        """The same for the browser: stretches and asks, as small as they can be."""
        return {
            "room": self.budget.room,
            "promised": self.budget.promised,
            "days": [day_of(edge) for edge in self.budget.edges],
            "asks": [
                [row.key, row.ask.first, row.ask.last, row.ask.gpus, row.ask.least, row.pitch.days] for row in self.rows
            ],
            "weeks": [[week.first, week.last, week.label, week.grants] for week in self.weeks],
            "top": self.top,
            "height": CHART_HEIGHT,
            "words": words(),
        }


@dataclass(frozen=True)
class Told:
    """A suggested set in words: which numbers, what it gains, how good it is, and why the others are left out."""

    numbers: str
    gain: str
    proof: str
    left_out: list[tuple[int, str, str]]


def board_of(viewer: Viewer, division: Division, model: GpuModel, marks: Marks, *, now: datetime) -> Board:
    """The board as the person has marked it; what is taken is judged in the order of the ranks."""
    waiting = viewer.competing.filter(model=model, project__division=division)
    found = list(waiting.prefetch_related("roles", "sign_offs")[: MOST_ROWS + 1])
    pitches = found[:MOST_ROWS]
    times = {pitch.pk: grants.promised_time(pitch.start_on, pitch.days, now=now) for pitch in pitches}
    budget = budget_of(division, model, times, now)
    rows = rows_of(viewer, pitches, times, budget, marks)
    taken = {row.key: row.gpus for row in rows if row.is_taken}
    judgement = judge(budget.room, [row.ask for row in rows], taken)
    horizon = bisect_left(budget.edges, now + WEEKS * WEEK)
    limits = [max(a + max(b, 0), a) for a, b in zip(budget.promised, budget.room, strict=True)][:horizon]
    top = max([1, *limits]) * HEADROOM
    given = list(desk.promised_grants(division, model, start=now, end=now + WEEKS * WEEK))
    board = Board(
        division=division,
        model=model,
        budget=budget,
        rows=rows,
        more=waiting.count() - MOST_ROWS if len(found) > MOST_ROWS else 0,
        top=top,
        weeks=weeks_of(budget, judgement.left, given, now, top),
        judgement=judgement,
        summary=_summary(rows, budget, judgement),
        left_gpus=min(judgement.left[:horizon]),
    )
    _tell(board)
    return board


def told(board: Board, suggestion: Suggestion, before: int) -> Told:
    """The suggestion in words; `before` is what was taken of the ranking until now."""
    rows = {row.key: row for row in board.rows}
    gain = ""
    if before:
        gain = _("%(n)s %% of your ranking against what is marked and fits") % {
            "n": f"{100 * (suggestion.weight - before) / before:+.0f}"
        }
    if suggestion.is_best:
        proof = _("Proven: no other set that fits holds more of your ranking.")
    else:
        most = 100 * (suggestion.bound - suggestion.weight) / max(1, suggestion.weight)
        proof = _("Found in the time given; another set could hold at most %(n)s %% more.") % {"n": f"{most:.1f}"}
    left_out = []
    for each in suggestion.left_out:
        row = rows[each.key]
        if each.instead is None:
            why = _("does not fit even alone")
        else:
            why = _("%(least)s would fit if these went: %(rows)s") % {
                "least": number(row.ask.least),
                "rows": numbers_of([rows[key].rank for key in each.instead]),
            }
        left_out.append((row.rank, row.pitch.title, why))
    return Told(", ".join(f"#{rows[key].rank}" for key in suggestion.gpus), gain, proof, left_out)


def _tell(board: Board) -> None:
    """Each row says in words how it stands."""
    ranks = {row.key: row.rank for row in board.rows}
    days = {row.key: day_of(board.budget.edges[board.judgement.findings[row.key].at]) for row in board.rows}
    for row in board.rows:
        row.finding = board.judgement.findings[row.key]
        row.displaced = numbers_of([ranks[key] for key in row.finding.displaces])
        row.outcome = _("fits")
        if not row.finding.fits:
            row.outcome = _("%(n)s short from %(day)s") % {"n": number(row.finding.short_gpus), "day": days[row.key]}
            if row.finding.free_gpus >= row.ask.least:
                row.outcome += _("; %(n)s fit") % {"n": number(row.finding.free_gpus)}


def _summary(rows: Sequence[Row], budget: Budget, judgement: Judgement) -> str:
    taken = [row for row in rows if row.is_taken]
    if not taken:
        return words()["nothing"]
    used = [room - left for room, left in zip(budget.room, judgement.left, strict=True)]
    out = sum(not judgement.findings[row.key].fits for row in taken)
    said = {
        "n": len(taken), "peak": number(max(used)), "hours": number(sum(row.gpu_hours for row in taken)),
        "left": left_of(min(judgement.left)), "out": out,
    }  # fmt: skip
    return words()["summary"] % said + (" " + words()["out"] % said if out else "")
