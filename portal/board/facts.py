"""What one budget's board is drawn from, read once: marks may change, and nothing of it is asked again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from allocations import grants
from allocations.models import Division, Grant, Person, Pitch, Role
from allocations.queries import desk
from allocations.queries.standing import Standing, standings_of
from inventory.models import GpuModel
from portal.board.budget import WEEK, WEEKS, Budget, budget_of

MOST_ROWS = 200  # what one sitting can weigh against each other; those that wait longest


@dataclass(frozen=True)
class Facts:
    """One moment of a budget: what competes and when, who asked, what is promised; `more` wait beside the pitches."""

    person: Person
    division: Division
    model: GpuModel
    now: datetime
    pitches: list[Pitch]
    more: int
    times: Mapping[int, tuple[datetime, datetime]]
    budget: Budget
    given: list[Grant]
    standings: Mapping[int, list[Standing]]
    past: Mapping[int, desk.Past]
    roles: Mapping[int, Role]


def facts_of(
    person: Person, division: Division, model: GpuModel, waiting: desk.Competing, *, now: datetime, count: int
) -> Facts:
    """The facts of that budget, of whose pitches so many wait."""
    rows = waiting.filter(table_model=model.pk, project__division=division)
    pitches = desk.with_signatures(rows[:MOST_ROWS])
    roles = desk.roles_by_pk()
    for pitch in pitches:
        for needed in pitch.needed_roles.all():
            needed.role = roles[needed.role_id]
    times = {pitch.pk: grants.promised_time(pitch.terms.start_on, pitch.terms.days, now=now) for pitch in pitches}
    projects = {pitch.project_id: pitch.project for pitch in pitches}
    return Facts(
        person=person,
        division=division,
        model=model,
        now=now,
        pitches=pitches,
        more=max(0, count - MOST_ROWS),
        times=times,
        budget=budget_of(division, model, times, now),
        given=list(desk.promised_grants(division, model, start=now, end=now + WEEKS * WEEK)),
        standings=standings_of(list(projects.values())),
        past=desk.past_asks(set(projects)),
        roles=roles,
    )
