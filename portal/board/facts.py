"""What one budget's board is drawn from, read once: marks may change, less their terms, and nothing is asked again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from allocations import grants
from allocations.models import Division, Grant, Person, Pitch, Role
from allocations.queries import desk
from allocations.queries.standing import Standing, standings_of
from inventory.models import GpuModel
from portal.board.budget import WEEK, WEEKS, Budget, Span, budgets_of
from portal.board.terms import typed_terms
from portal.forms.desk import Marks

MOST_ROWS = 200  # what one sitting can weigh against each other; those that wait longest


@dataclass(frozen=True)
class Facts:
    """One moment of a budget: what competes and when, who asked, what is promised; `more` wait beside the pitches.

    `times` are those that somebody typed, and `budgets` has the models that somebody names instead, too.
    """

    person: Person
    division: Division
    model: GpuModel
    models: list[GpuModel]
    now: datetime
    pitches: list[Pitch]
    more: int
    times: Mapping[int, Span]
    budgets: Mapping[int, Budget]
    given: list[Grant]
    standings: Mapping[int, list[Standing]]
    past: Mapping[int, desk.Past]
    roles: Mapping[int, Role]

    @property
    def budget(self) -> Budget:
        """What there is of the model in question."""
        return self.budgets[self.model.pk]


def facts_of(
    person: Person,
    division: Division,
    model: GpuModel,
    waiting: desk.Competing,
    marks: Marks,
    *,
    models: list[GpuModel],
    now: datetime,
    count: int,
) -> Facts:
    """The facts of that budget, of whose pitches so many wait; `models` are all there are."""
    roles = desk.roles_by_pk()
    pitches = _pitches(waiting.filter(table_model=model.pk, project__division=division), models, roles)
    terms = {pitch.pk: typed_terms(pitch, marks, models) for pitch in pitches}
    times = {pk: grants.promised_time(each.start_on, each.days, now=now) for pk, each in terms.items()}
    wanted = {pk: each.model for pk, each in terms.items()}
    projects = {pitch.project_id: pitch.project for pitch in pitches}
    return Facts(
        person=person,
        division=division,
        model=model,
        models=models,
        now=now,
        pitches=pitches,
        more=max(0, count - MOST_ROWS),
        times=times,
        budgets=budgets_of(
            division, [each for each in models if each in {model, *wanted.values()}], times, wanted, now
        ),
        given=list(desk.promised_grants(division, model, start=now, end=now + WEEKS * WEEK)),
        standings=standings_of(list(projects.values())),
        past=desk.past_asks(set(projects)),
        roles=roles,
    )


def _pitches(rows: desk.Competing, models: list[GpuModel], roles: Mapping[int, Role]) -> list[Pitch]:
    """With all that says whose turn it is and what else would do."""
    pitches = desk.with_signatures(rows[:MOST_ROWS])
    by_pk = {model.pk: model for model in models}
    for pitch in pitches:
        for needed in pitch.needed_roles.all():
            needed.role = roles[needed.role_id]
        for each in pitch.alternatives.all():
            each.model = by_pk[each.model_id]
    return pitches
