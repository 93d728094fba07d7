"""Undo: a plan on top that gives every GPU back to whom it was assigned before the plan to be undone."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from django.db import transaction
from django.db.models import Count, Max
from django.utils.translation import gettext as _

from allocations import queries, rules
from allocations.errors import NothingToPlan, WrongState
from allocations.models import Grant, Move, Person, Plan, PlanStep
from allocations.plans.steps import UNDO, Destination, write_plan
from inventory import queries as facts

ASSIGNED_ON = "assigned_on"  # a later plan has moved it
GONE = "gone"  # lost or retired
GRANT_FULL = "grant_full"  # its grant got another GPU instead meanwhile


@transaction.atomic
def propose_undo(*, plan: Plan, by: Person) -> Plan:
    """A plan that restores the assignments before `plan`, also of moves half-way: those are replaced.

    What cannot be restored any more stays as it is and stands in `why["left"]`: reason -> uuids. An undo can be undone.
    Raises NotAllowed, WrongState (not committed), NothingToPlan (nothing of it can be restored).
    """
    rules.require(by, "propose_plan", plan)
    if plan.generation is None:
        raise WrongState(_("This plan was not committed: there is nothing to undo."), state="proposed")
    target = queries.target()
    steps = plan.steps.filter(kind=PlanStep.Kind.MOVE).select_related(
        "gpu", "from_assignment__project", "from_assignment__grant"
    )
    restored, left = _sort(steps, plan.generation)
    if not restored:
        message = _("Nothing of this plan can be restored: other plans have moved its GPUs on, or they are gone.")
        raise NothingToPlan(message, left=left)
    undo = Plan(
        purpose=Plan.Purpose.UNDO,
        inverse_of=plan,
        base_generation=target.generation,
        why={"restored_gpus": len(restored), "left": left},
    )
    return write_plan(undo, restored, by=by, undoes=str(plan.public_id))


def _sort(steps: Iterable[PlanStep], generation: int) -> tuple[list[Destination], dict[str, list[str]]]:
    """What can be restored, and what cannot: reason -> uuids."""
    steps = list(steps)
    gpus = [step.gpu_id for step in steps]
    newest = dict(Move.objects.filter(gpu__in=gpus).order_by().values_list("gpu").annotate(Max("generation")))
    here = set(facts.units().filter(pk__in=gpus, lost_at=None).values_list("pk", flat=True))
    left: dict[str, list[str]] = defaultdict(list)
    free = []
    for step in steps:
        if newest[step.gpu_id] > generation:
            left[ASSIGNED_ON].append(str(step.gpu))
        elif step.gpu_id not in here:
            left[GONE].append(str(step.gpu))
        else:
            free.append(step)
    room = _room(free)
    restored = []
    for step in free:
        before = step.from_assignment
        if before and before.grant_id:
            if room[before.grant_id] <= 0:
                left[GRANT_FULL].append(str(step.gpu))
                continue
            room[before.grant_id] -= 1
        project, grant = (before.project, before.grant) if before else (None, None)
        restored.append(Destination(step.gpu_id, UNDO, project, grant))
    return restored, dict(left)


def _room(steps: Iterable[PlanStep]) -> Counter[int]:
    """Grant pk -> how many GPUs it may still get once those of `steps` have left it."""
    before = [step.from_assignment for step in steps if step.from_assignment]
    grants = {assignment.grant_id for assignment in before if assignment.grant_id}
    staying = (
        queries.assignments_now()
        .filter(grant__in=grants, gpu__retired_at=None, gpu__node__retired_at=None)
        .exclude(gpu__in=[step.gpu_id for step in steps])
    )
    room: Counter[int] = Counter(dict(Grant.objects.filter(pk__in=grants).order_by().values_list("pk", "gpus")))
    room.subtract(dict(staying.order_by().values_list("grant").annotate(Count("pk"))))
    return room
