"""The board: one budget and the pitches that compete for it, judged as somebody marked them."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from allocations.desk import Judgement, Suggestion, judge
from allocations.models import Division
from inventory.models import GpuModel
from portal.board.budget import WEEK, WEEKS, Budget
from portal.board.facts import Facts
from portal.board.promises import Promise, without
from portal.board.rows import Row, rows_of
from portal.board.terms import alternatives_of
from portal.board.weeks import CHART_HEIGHT, Week, weeks_of
from portal.board.words import day_of, left_of, numbers_of, words
from portal.forms.desk import Marks
from portal.templatetags.figures import number

HEADROOM = 1.25  # what stands over the share must be seen over it


@dataclass
class Board:
    """All that the desk shows of one budget. `left_gpus` is what the tightest moment of the 26 weeks leaves.

    `budget` is what the facts say, without the grants that somebody left out.
    """

    facts: Facts
    budget: Budget
    rows: list[Row]
    promises: list[Promise]
    top: float
    weeks: list[Week]
    judgement: Judgement
    summary: str
    left_gpus: int
    suggestion: "Told | None" = None

    @property
    def division(self) -> Division:
        """Whose budget it is."""
        return self.facts.division

    @property
    def model(self) -> GpuModel:
        """The GPU model of the budget."""
        return self.facts.model

    @property
    def more(self) -> int:
        """How many wait beside the rows."""
        return self.facts.more

    @property
    def leaves_out(self) -> bool:
        """Whether somebody left grants out of the budget."""
        return any(each.is_ended for each in self.promises)

    @property
    def left_words(self) -> str:
        """The same in words: so many left, or over."""
        return left_of(self.left_gpus, words())

    @property
    def misfits(self) -> list[Row]:
        """Marked ones that would not be kept as they are marked."""
        return [row for row in self.rows if row.is_misfit]

    @property
    def misfit(self) -> str:
        """Which those are and what the first of them misses; "" for none."""
        rows = self.misfits
        told = {"rows": numbers_of([row.rank for row in rows]), "why": rows[0].outcome} if rows else {}
        return words()["misfits"] % told if told else ""

    @property
    def weights(self) -> dict[str, int]:
        """What each row counts in the person's ranking: the last one 1, each above it one more."""
        return {row.key: len(self.rows) - place for place, row in enumerate(self.rows)}

    @property
    def data(self) -> dict[str, Any]:
        """The same for the browser: stretches and asks, as small as they can be."""
        return {
            "room": self.facts.budget.room,
            "promised": self.facts.budget.promised,
            "days": [day_of(edge) for edge in self.budget.edges],
            "asks": [_told_ask(row) for row in self.rows],
            "alternatives": {row.key: told for row in self.rows if (told := alternatives_of(row.pitch))},
            "promises": [[each.key, each.first, each.last, each.gpus] for each in self.promises],
            "ended": [each.key for each in self.promises if each.is_ended],
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


def board_of(facts: Facts, marks: Marks) -> Board:
    """The board as the person has marked it; what is taken is judged in the order of the ranks."""
    budget, promises = without(facts.budget, facts.given, marks)
    budgets = {**facts.budgets, facts.model.pk: budget}
    rows = rows_of(facts, budgets, marks)
    judgement = _judged(rows, budgets, facts.model)
    horizon = bisect_left(budget.edges, facts.now + WEEKS * WEEK)
    limits = [max(a + max(b, 0), a) for a, b in zip(budget.promised, budget.room, strict=True)][:horizon]
    top = max([1, *limits]) * HEADROOM
    board = Board(
        facts=facts,
        budget=budget,
        rows=rows,
        promises=promises,
        top=top,
        weeks=weeks_of(budget, judgement.left, facts.given, facts.now, top),
        judgement=judgement,
        summary=_summary(rows, budget, judgement),
        left_gpus=min(judgement.left[:horizon]),
    )
    _tell(board, budgets)
    return board


def _judged(rows: Sequence[Row], budgets: Mapping[int, Budget], model: GpuModel) -> Judgement:
    """What the model's own budget has left, and how each row stands in the budget of the model that it would get."""
    judged = {}
    for pk, budget in budgets.items():
        own = [row for row in rows if row.terms.model.pk == pk]
        judged[pk] = judge(budget.room, [row.ask for row in own], {row.key: row.gpus for row in own if row.is_taken})
    findings = {key: finding for each in judged.values() for key, finding in each.findings.items()}
    return replace(judged[model.pk], findings=findings)


def _told_ask(row: Row) -> list[Any]:
    """The ask for the browser; what is of another model is judged by the server alone: whether it fits, in words."""
    ask = row.ask
    told = [ask.key, ask.first, ask.last, ask.gpus, ask.least, row.terms.days, row.most, int(row.is_above_share)]
    start = row.pitch.terms.start_on.isoformat()
    return [
        *told,
        row.pitch.offered_gpus,
        start,
        row.pitch.terms.days,
        *([row.finding.fits, row.outcome] if row.is_elsewhere else []),
    ]


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


def _tell(board: Board, budgets: Mapping[int, Budget]) -> None:
    """Each row says in words how it stands."""
    ranks = {row.key: row.rank for row in board.rows}
    fits, said = _("fits"), words()
    for row in board.rows:
        row.chosen = _chosen(row, said)
        finding = row.finding = board.judgement.findings[row.key]
        row.displaced = numbers_of([ranks[key] for key in finding.displaces])
        row.outcome = fits
        if not finding.fits:
            day = day_of(budgets[row.terms.model.pk].edges[finding.at])
            row.outcome = _("%(n)s short from %(day)s") % {"n": number(finding.short_gpus), "day": day}
            if finding.free_gpus >= row.ask.least:
                row.outcome += _("; %(n)s fit") % {"n": number(finding.free_gpus)}
        if row.is_elsewhere:
            row.outcome = _("%(model)s: %(outcome)s") % {"model": row.terms.model, "outcome": row.outcome}


def _chosen(row: Row, said: Mapping[str, str]) -> str:
    """The answer that is marked, where the tick alone does not say it."""
    if row.is_waitlisted:
        place = row.typed["place"].strip()
        return said["waits_at"] % {"n": place} if place else said["waits"]
    is_moved = row.is_taken and not row.is_elsewhere and row.typed["start"] != row.pitch.terms.start_on.isoformat()
    return said["starts"] % {"day": day_of(row.starts_at)} if is_moved else ""


def _summary(rows: Sequence[Row], budget: Budget, judgement: Judgement) -> str:
    taken, sentences = [row for row in rows if row.is_taken], words()
    if not taken:
        return sentences["nothing"]
    used = [room - left for room, left in zip(budget.room, judgement.left, strict=True)]
    out = sum(not judgement.findings[row.key].fits for row in taken)
    said = {
        "n": len(taken), "peak": number(max(used)), "hours": number(sum(row.gpu_hours for row in taken)),
        "left": left_of(min(judgement.left), sentences), "out": out,
    }  # fmt: skip
    return sentences["summary"] % said + (" " + sentences["out"] % said if out else "")
