"""The pitches that compete for a budget as rows of the desk, with what somebody typed beside them."""

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.conf import settings

from allocations import queries
from allocations.desk import Ask, Finding
from allocations.models import Pitch, Role
from allocations.queries import desk
from allocations.queries.standing import Standing
from portal.board.budget import Budget
from portal.board.facts import Facts
from portal.forms.desk import Marks

HOURS_A_DAY = 24


@dataclass
class Row:
    """A pitch as the desk shows it, with what the person typed beside it. `mandate`: None where it is not the turn."""

    pitch: Pitch
    key: str
    rank: int
    ask: Ask
    starts_at: datetime
    gpus: int
    typed_gpus: str
    reason: str
    is_taken: bool
    is_declined: bool
    mandate: queries.Mandate | None
    signers: list[tuple[Role, bool]]
    is_overdue: bool
    record: Standing | None
    past: desk.Past
    finding: Finding = field(default_factory=lambda: Finding(True, 0, 0, 0))
    outcome: str = ""
    displaced: str = ""
    refusal: str = ""

    @property
    def role(self) -> str:
        """The role to sign in, "" where it is not the person's turn."""
        return self.mandate.role.slug if self.mandate else ""

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
        return self.gpus * self.pitch.terms.days * HOURS_A_DAY

    @property
    def cost(self) -> Decimal | None:
        """The same as money; None where the model has no price."""
        price = self.pitch.terms.model.price_per_gpu_hour
        return None if price is None else price * self.gpu_hours


def rows_of(facts: Facts, budget: Budget, marks: Marks) -> list[Row]:
    """In the person's ranking, the longest wait first where nothing was typed."""
    place = {pitch.pk: place for place, pitch in enumerate(facts.pitches, start=1)}

    def ranking(pitch: Pitch) -> tuple[int, int]:
        return marks.rank_of(str(pitch.public_id), place[pitch.pk]), place[pitch.pk]

    ranked = sorted(facts.pitches, key=ranking)
    return [_row(facts, budget, marks, rank, pitch) for rank, pitch in enumerate(ranked, start=1)]


def _row(facts: Facts, budget: Budget, marks: Marks, rank: int, pitch: Pitch) -> Row:
    key, name = str(pitch.public_id), pitch.terms.model.name
    first, last = (bisect_left(budget.edges, at) for at in facts.times[pitch.pk])
    signed = {given.role_id for given in pitch.sign_offs.all() if given.round == pitch.round}
    needed = sorted(pitch.needed_roles.all(), key=lambda row: (row.position, row.role_id))
    return Row(
        pitch=pitch,
        key=key,
        rank=rank,
        ask=Ask(key, first, last, pitch.offered_gpus, min(pitch.min_gpus, pitch.offered_gpus)),
        starts_at=facts.times[pitch.pk][0],
        gpus=marks.gpus_of(key, most=pitch.offered_gpus),
        typed_gpus=marks.gpus.get(key, str(pitch.offered_gpus)),
        reason=marks.reasons.get(key, ""),
        is_taken=key in marks.taken,
        is_declined=key in marks.declined,
        mandate=next(iter(queries.mandates_to_sign(pitch, facts.person)), None),
        signers=[(row.role, row.role_id in signed) for row in needed],
        is_overdue=any(row.due_at and row.due_at < facts.now and row.role_id not in signed for row in needed),
        record=next((each for each in facts.standings[pitch.project_id] if each.model == name), None),
        past=facts.past.get(pitch.project_id, desk.Past()),
    )
