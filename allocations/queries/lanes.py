"""Live moves as ops look at them: what is under way together, in which state, since when and what it waits for."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import (
    Case,
    Count,
    DateTimeField,
    Exists,
    F,
    IntegerField,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from django.utils import timezone

from allocations.models import Move, Plan, PlanStep, Project

DONE_SHOWN = timedelta(hours=1)  # what has just arrived; later the plan's page tells
LANES = [*Move.OPEN, Move.State.DONE]

_ORDER: list[str] = [Move.State.FAILED, *LANES, Move.State.SUPERSEDED]
_SINCE = {
    Move.State.PROPOSED: "proposed_at",
    Move.State.NOTICED: "noticed_at",
    Move.State.AGREED: "agreed_at",
    Move.State.DRAINING: "draining_at",
    Move.State.SWITCHING: "switched_at",
    Move.State.DONE: "done_at",
    Move.State.FAILED: "failed_at",
}
_TOLD = (
    "plan__public_id", "from_holder", "goes_to", "model", "state", "fault", "gpus", "nodes", "processes", "tries",
    "since", "from_name", "to_name",
)  # fmt: skip


class Group(NamedTuple):
    """GPUs of one plan that go the same way and are equally far. `since`: when the first of them came into the state.

    The names are the projects' ("" nobody); a holder that is no project's slug is its own name.
    `running`: processes that their drains still wait for; `fault`: why the last calls failed, a code, "" for none.
    """

    plan: UUID
    from_holder: str
    to_holder: str
    model: str
    state: str
    fault: str
    gpus: int
    nodes: int
    running: int
    attempts: int
    since: datetime
    from_name: str
    to_name: str


def lanes(*, plan: Plan | None = None) -> list[Group]:
    """Moves that are open, failed and not mended, or done within the last hour (of one plan: all), by state and age."""
    newer = Move.objects.filter(gpu=OuterRef("gpu"), generation__gt=OuterRef("generation"))
    recent = Q(state=Move.State.DONE, done_at__gte=timezone.now() - DONE_SHOWN)
    moves = Move.objects.filter(plan=plan) if plan else Move.objects.filter(
        Q(state__in=Move.OPEN) | recent | Q(state=Move.State.FAILED) & ~Exists(newer)
    )  # fmt: skip
    stamps = [When(state=state, then=F(stamp)) for state, stamp in _SINCE.items()]
    since = Min(Coalesce(Case(*stamps, default=F("superseded_at")), F("proposed_at"), output_field=DateTimeField()))
    names = Project.objects.filter(slug=OuterRef("from_holder")).values("name")
    rows: QuerySet[Any] = (
        moves.order_by()
        .annotate(from_name=Coalesce(Subquery(names), "from_holder"), to_name=Coalesce("project__name", Value("")))
        .annotate(goes_to=Coalesce("project__slug", Value("")), model=F("gpu__model__name"))
        .values("plan__public_id", "from_holder", "from_name", "goes_to", "to_name", "model", "state", "fault")
        .annotate(
            gpus=Count("pk"),
            nodes=Count("gpu__node", distinct=True),
            processes=Coalesce(Sum("running"), 0),
            tries=Coalesce(Sum("attempts"), 0),
            since=since,
        )
        .values_list(*_TOLD)
    )
    return sorted((Group(*row) for row in rows), key=lambda group: (_ORDER.index(group.state), group.since))


def proposals() -> QuerySet[Plan]:
    """Plans that wait for a commit and could still have one: none since has moved one of their GPUs or met their need.

    With what `plans_with_outcome` tells, newest first.
    """
    moved = PlanStep.objects.filter(
        plan=OuterRef("pk"), kind=PlanStep.Kind.MOVE, gpu__moves__generation__gt=OuterRef("base_generation")
    )
    met = Plan.objects.filter(grant=OuterRef("grant"), generation__gt=OuterRef("base_generation"))
    return plans_with_outcome().filter(~Exists(moved), ~Exists(met), generation=None).order_by("-pk")


def plans_with_outcome() -> QuerySet[Plan]:
    """Plans with how many of their moves are `done_gpus`, `open_gpus`, `failed_gpus` and `superseded_gpus`.

    `moving_gpus` counts what the plan moves, or would; `undone`: a plan that undoes it was committed.
    """
    undone = Plan.objects.filter(inverse_of=OuterRef("pk"), generation__isnull=False)
    counted = {
        "done_gpus": Q(moves__state=Move.State.DONE),
        "open_gpus": Q(moves__state__in=Move.OPEN),
        "failed_gpus": Q(moves__state=Move.State.FAILED),
        "superseded_gpus": Q(moves__state=Move.State.SUPERSEDED),
    }
    steps = PlanStep.objects.filter(plan=OuterRef("pk"), kind=PlanStep.Kind.MOVE).order_by().values("plan")
    return Plan.objects.select_related(
        "grant__project", "grant__model", "proposed_by", "committed_by", "inverse_of"
    ).annotate(
        undone=Exists(undone),
        moving_gpus=Coalesce(Subquery(steps.annotate(gpus=Count("pk")).values("gpus"), output_field=IntegerField()), 0),
        **{name: Count("moves", filter=condition) for name, condition in counted.items()},
    )
