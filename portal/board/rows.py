"""The pitches that compete for a budget as rows of the desk, with what somebody typed beside them."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.conf import settings

from allocations import queries
from allocations.desk import Ask, Finding
from allocations.models import Pitch, Role
from allocations.models.terms import Terms
from allocations.pitches import most_gpus
from allocations.queries import desk
from allocations.queries.standing import Standing
from portal.board.budget import Budget
from portal.board.facts import Facts
from portal.board.terms import typed_terms
from portal.forms.desk import Marks

HOURS_A_DAY = 24


@dataclass
class Row:
    """A pitch as the desk shows it, with what the person typed beside it. `mandate`: None where it is not the turn.

    `terms` are those that would be approved, at most `most` GPUs; `is_elsewhere`: of another model than the board's.
    """

    pitch: Pitch
    key: str
    rank: int
    ask: Ask
    starts_at: datetime
    terms: Terms
    most: int
    typed: dict[str, str]
    reason: str
    is_taken: bool
    is_declined: bool
    is_waitlisted: bool
    is_open: bool
    is_elsewhere: bool
    mandate: queries.Mandate | None
    signers: list[tuple[Role, bool]]
    is_overdue: bool
    record: Standing | None
    past: desk.Past
    finding: Finding = field(default_factory=lambda: Finding(True, 0, 0, 0))
    chosen: str = ""
    outcome: str = ""
    displaced: str = ""
    refusal: str = ""

    @property
    def gpus(self) -> int:
        """How many would be approved."""
        return self.terms.gpus

    @property
    def is_above_share(self) -> bool:
        """Whether its signatures are those of an exception: more than the share does not stop it."""
        return self.pitch.is_over_share and self.terms.model == self.pitch.model

    @property
    def is_misfit(self) -> bool:
        """Whether an approval as it is marked would not be kept: it is refused, and stays marked."""
        return self.is_taken and bool(self.role) and not self.finding.fits and not self.is_above_share

    @property
    def role(self) -> str:
        """The role to sign in, "" where it is not the person's turn."""
        return self.mandate.role.slug if self.mandate else ""

    @property
    def is_listed(self) -> bool:
        """Whether it is on the waitlist already."""
        return bool(self.pitch.state == Pitch.State.WAITLISTED)

    @property
    def seen(self) -> str:
        """What the person saw of the pitch, sent back with the answer."""
        return f"{self.key}:{self.pitch.round}:{self.role}"

    @property
    def must_open(self) -> bool:
        """Whether it is decided here only once the person has had it open."""
        is_large = self.pitch.offered_gpus > settings.DECIDE_UNOPENED_GPUS
        return bool(self.role) and is_large and not self.pitch.is_opened  # type: ignore[attr-defined]

    @property
    def gpu_hours(self) -> int:
        """What the number beside it costs over the whole length."""
        return self.gpus * self.terms.days * HOURS_A_DAY

    @property
    def cost(self) -> Decimal | None:
        """The same as money; None where the model has no price."""
        price = self.terms.model.price_per_gpu_hour
        return None if price is None else price * self.gpu_hours


def rows_of(facts: Facts, budgets: Mapping[int, Budget], marks: Marks) -> list[Row]:
    """In the person's ranking, the longest wait first where nothing was typed."""
    place = {pitch.pk: place for place, pitch in enumerate(facts.pitches, start=1)}

    def ranking(pitch: Pitch) -> tuple[int, int]:
        return marks.rank_of(str(pitch.public_id), place[pitch.pk]), place[pitch.pk]

    ranked = sorted(facts.pitches, key=ranking)
    return [_row(facts, budgets, marks, rank, pitch) for rank, pitch in enumerate(ranked, start=1)]


def _row(facts: Facts, budgets: Mapping[int, Budget], marks: Marks, rank: int, pitch: Pitch) -> Row:
    key, name, terms = str(pitch.public_id), pitch.terms.model.name, typed_terms(pitch, marks, facts.models)
    is_elsewhere, budget = terms.model != facts.model, budgets[terms.model.pk]
    table = terms.gpus if is_elsewhere else pitch.offered_gpus
    first, last = (bisect_left(budget.edges, at) for at in facts.times[pitch.pk])
    signed = {given.role_id for given in pitch.sign_offs.all() if given.round == pitch.round}
    needed = sorted(pitch.needed_roles.all(), key=lambda row: (row.position, row.role_id))
    return Row(
        pitch=pitch,
        key=key,
        rank=rank,
        ask=Ask(key, first, last, table, min(pitch.min_gpus, table)),
        starts_at=facts.times[pitch.pk][0],
        terms=terms,
        most=most_gpus(pitch, terms.model),
        typed={
            "gpus": marks.gpus.get(key, str(terms.gpus)),
            "start": marks.starts.get(key, pitch.terms.start_on.isoformat()),
            "days": marks.days.get(key, str(pitch.terms.days)),
            "place": marks.places.get(key, ""),
        },
        reason=marks.reasons.get(key, ""),
        is_taken=key in marks.taken,
        is_declined=key in marks.declined,
        is_waitlisted=key in marks.waitlisted,
        is_open=key in marks.opened
        or key in marks.waitlisted
        or terms[2:] != pitch.terms[2:]
        or is_elsewhere
        or str(rank) == marks.opened_rank,
        is_elsewhere=is_elsewhere,
        mandate=next(iter(queries.mandates_to_sign(pitch, facts.person)), None),
        signers=[(row.role, row.role_id in signed) for row in needed],
        is_overdue=any(row.due_at and row.due_at < facts.now and row.role_id not in signed for row in needed),
        record=next((each for each in facts.standings[pitch.project_id] if each.model == name), None),
        past=facts.past.get(pitch.project_id, desk.Past()),
    )
