"""The pitches that compete for a budget as rows of the desk, with what somebody typed beside them."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from allocations.desk import Ask, Finding
from allocations.models import Person, Pitch, Role
from allocations.queries import desk
from allocations.queries.standing import Standing, standings_of
from portal.board.budget import Budget
from portal.board.words import day_of
from portal.forms.desk import Marks
from portal.templatetags.allot import busy, number, waited

HOURS_A_DAY = 24
FIRST_WORDS = 120  # more than the line holds


@dataclass(frozen=True)
class Viewer:
    """Whose desk it is: the roles to sign in, and the pitches that compete in the budgets of that person."""

    person: Person
    roles: Sequence[Role]
    competing: QuerySet[Pitch]


@dataclass
class Row:
    """A pitch as the desk shows it, with what the person typed beside it."""

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
    role: str
    role_name: str
    signers: list[tuple[str, bool]]
    record: Standing | None
    decided: tuple[int, int]
    gpu_hours: int
    cost: Decimal | None
    finding: Finding = field(default_factory=lambda: Finding(True, 0, 0, 0))
    outcome: str = ""
    displaced: str = ""
    refusal: str = ""

    @property
    def seen(self) -> str:
        """What the person saw of the pitch, sent back with the answer."""
        return f"{self.key}:{self.pitch.round}:{self.role}"

    @property
    def about(self) -> str:
        """Whose it is and how long it waits."""
        words = {
            "project": self.pitch.project.name,
            "person": self.pitch.pitcher.name,
            "span": waited(self.pitch.submitted_at),
        }
        return _("%(project)s · %(person)s · waits %(span)s") % words

    @property
    def first_words(self) -> str:
        """How the reason begins; all of it opens."""
        return self.pitch.why[:FIRST_WORDS].split("\n")[0]

    @property
    def signatures(self) -> str:
        """Who has signed these terms and who is still to."""
        told = [
            _("%(role)s signed") % {"role": name}
            if is_signed
            else _("%(role)s: your turn") % {"role": name}
            if name == self.role_name
            else _("%(role)s waits") % {"role": name}
            for name, is_signed in self.signers
        ]
        return " · ".join(told)

    @property
    def terms(self) -> str:
        """What may be approved, and what was asked for at first where that was more."""
        pitch, words = self.pitch, {"offered": number(self.pitch.offered_gpus), "least": number(self.pitch.min_gpus)}
        told = (
            _("all or none") if pitch.offered_gpus == pitch.min_gpus else _("of %(offered)s, least %(least)s") % words
        )
        if pitch.offered_gpus == pitch.ideal_gpus:
            return told
        return told + " · " + _("asked %(ideal)s") % {"ideal": number(pitch.ideal_gpus)}

    @property
    def length(self) -> str:
        """How long, from when."""
        return _("%(span)s from %(day)s") % {"span": self.weeks, "day": day_of(self.starts_at)}

    @property
    def has(self) -> str:
        """What the project has of this GPU model."""
        if self.record is None:
            return _("nothing of it")
        words = {
            "promised": number(self.record.promised), "held": number(self.record.held), "used": busy(self.record),
        }  # fmt: skip
        return _("%(promised)s promised, %(held)s held, %(used)s busy") % words

    @property
    def before(self) -> str:
        """How the project's earlier pitches were decided; "" where there were none."""
        granted, declined = self.decided
        if not granted and not declined:
            return ""
        return _("%(granted)s granted, %(declined)s declined before") % {"granted": granted, "declined": declined}

    @property
    def weeks(self) -> str:
        """The length, in weeks where that is whole."""
        days = self.pitch.days
        if days % 7:
            return ngettext("%(n)s day", "%(n)s days", days) % {"n": days}
        return ngettext("%(n)s week", "%(n)s weeks", days // 7) % {"n": days // 7}


def rows_of(
    viewer: Viewer,
    pitches: Sequence[Pitch],
    times: Mapping[int, tuple[datetime, datetime]],
    budget: Budget,
    marks: Marks,
) -> list[Row]:
    turns = desk.turns(viewer.person)
    projects = {pitch.project_id: pitch.project for pitch in pitches}
    standings = standings_of(list(projects.values()))
    decided = desk.decided_counts(set(projects))
    place = {pitch.pk: place for place, pitch in enumerate(pitches, start=1)}
    ranked = sorted(pitches, key=lambda pitch: (marks.rank_of(str(pitch.public_id), place[pitch.pk]), place[pitch.pk]))
    rows = []
    for rank, pitch in enumerate(ranked, start=1):
        key = str(pitch.public_id)
        starts_at, ends_at = times[pitch.pk]
        signed = {given.role_id for given in pitch.sign_offs.all() if given.round == pitch.round}
        needed = list(pitch.roles.all())
        open_roles = {role.pk for role in needed if role.pk not in signed}
        mine = next((role for role in viewer.roles if pitch.pk in turns and role.pk in open_roles), None)
        gpus = marks.gpus_of(key, most=pitch.offered_gpus)
        hours = gpus * pitch.days * HOURS_A_DAY
        price = pitch.model.price_per_gpu_hour
        rows.append(
            Row(
                pitch=pitch,
                key=key,
                rank=rank,
                ask=Ask(
                    key,
                    bisect_left(budget.edges, starts_at),
                    bisect_left(budget.edges, ends_at),
                    pitch.offered_gpus,
                    pitch.min_gpus,
                ),
                starts_at=starts_at,
                gpus=gpus,
                typed_gpus=marks.gpus.get(key, str(pitch.offered_gpus)),
                reason=marks.reasons.get(key, ""),
                is_taken=key in marks.taken,
                is_declined=key in marks.declined,
                role=mine.slug if mine else "",
                role_name=mine.name if mine else "",
                signers=[(role.name, role.pk in signed) for role in needed],
                record=next((each for each in standings[pitch.project_id] if each.model == pitch.model.name), None),
                decided=decided.get(pitch.project_id, (0, 0)),
                gpu_hours=hours,
                cost=None if price is None else price * hours,
            )
        )
    return rows
