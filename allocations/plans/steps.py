"""Writing a plan down: what it says about each GPU, and that every move still open goes on."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from allocations import queries
from allocations.models import Assignment, Grant, Move, Person, Plan, PlanStep, Project
from inventory import trail

# Where the planner's reason codes do not reach: why undo, release, repair and adoption touch a GPU.
UNDO = "undo"
DRIFT = "drift"
FAILED = "failed"
KEPT = "kept"
ADOPTED = "adopted"


@dataclass(frozen=True, slots=True)
class Destination:
    """GPU `gpu_id` goes to `project` for `grant` (None, None: to nobody), for the reason `source`.

    `observed`: who has it where that is not who it is assigned to.
    """

    gpu_id: int
    source: str
    project: Project | None = None
    grant: Grant | None = None
    observed: str | None = None


def current_assignments(gpus: Collection[int]) -> dict[int, Assignment]:
    """GPU pk -> who is meant to have it now; those that nobody is meant to have are left out."""
    rows = queries.assignments_now().filter(gpu__in=gpus).select_related("project", "grant")
    return {row.gpu_id: row for row in rows}


def write_plan(plan: Plan, destinations: Sequence[Destination], *, by: Person, **event_facts: Any) -> Plan:
    """The plan stands with its steps: a move for each destination, and that every other open move is kept.

    `plan` comes unsaved with purpose, base generation and why; this fills in the rest. Needs an open transaction.
    """
    assigned = current_assignments([to.gpu_id for to in destinations])
    open_moves = {move.gpu_id: move for move in Move.objects.filter(state__in=Move.OPEN).select_related("project")}
    plan.parent = queries.target().plan
    plan.proposed_by, plan.proposed_at = by, timezone.now()
    plan.save()
    steps = [_move(plan, to, assigned.get(to.gpu_id), open_moves.pop(to.gpu_id, None)) for to in destinations]
    steps += [_keep(plan, move) for move in open_moves.values()]
    PlanStep.objects.bulk_create(sorted(steps, key=lambda step: step.gpu_id))
    trail.record(
        "plan.proposed", plan, by=by, purpose=plan.purpose, gpus=len(destinations), kept=len(open_moves), **event_facts
    )
    return plan


def _move(plan: Plan, to: Destination, assignment: Assignment | None, replaces: Move | None) -> PlanStep:
    holder = assignment.project.slug if assignment else ""
    return PlanStep(
        plan=plan,
        gpu_id=to.gpu_id,
        kind=PlanStep.Kind.MOVE,
        source=to.source,
        from_holder=holder if to.observed is None else to.observed,
        from_assignment=assignment,
        project=to.project,
        grant=to.grant,
        replaces=replaces,
    )


def _keep(plan: Plan, move: Move) -> PlanStep:
    return PlanStep(
        plan=plan,
        gpu_id=move.gpu_id,
        kind=PlanStep.Kind.KEEP,
        source=KEPT,
        from_holder=move.from_holder,
        project=move.project,
        grant_id=move.grant_id,
        keeps=move,
    )
