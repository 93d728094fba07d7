"""Commit: a plan becomes the target, by compare-and-set, and its moves begin."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import F, Func, Max, Value
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import rules
from allocations.errors import Stale
from allocations.locks import lock_target, one_at_a_time
from allocations.models import Assignment, Move, Person, Plan, PlanStep, Target
from allocations.plans.checks import check_all
from allocations.plans.notices import tell
from inventory import trail
from inventory.models import Reading

# A repair may lift the target above what its nodes know (after a restore of an older backup). Further than this is no
# lost history but a node that says nonsense, and the one target must not follow it to the end of the numbers.
LIFT_MOST = 1_000_000
INSTANT = timedelta(microseconds=1)


@one_at_a_time
def commit_plan(*, plan: Plan, by: Person, generation: int) -> Plan:
    """The plan is the target: its GPUs are assigned as it says, and its moves begin; replaced ones are superseded.

    `generation` is the target's that the person saw. Locks the target, so commits are made one at a time. What another
    commit has done since the proposal does no harm while the plan's GPUs and what it rests on are as they were: it is
    then rebased; moves that such a commit began go on as they are. The target grows by 1 (a repair may lift it above
    what its nodes know). Donors' leads and the requester are told.
    Raises NotAllowed, Stale (committed already, or not as it was any more), Uncovered.
    """
    rules.require(by, "commit_plan", plan)
    target = lock_target()
    _check_uncommitted(plan, target, generation)
    steps = list(plan.steps.select_related("gpu", "project", "grant", "from_assignment__project__lead"))
    moves = [step for step in steps if step.kind == PlanStep.Kind.MOVE]
    check_all(plan, steps, moves)
    new_generation = _next_generation(plan, moves, target)
    at = _instant_after([step.from_assignment for step in moves if step.from_assignment])
    superseded = _supersede([step.gpu_id for step in moves], at)
    _assign(moves, new_generation, at)
    Move.objects.bulk_create(_begin(step, new_generation, at) for step in moves)
    _set_target(target, plan, new_generation, by, at)
    event = trail.record(
        "plan.committed",
        plan,
        by=by,
        generation=new_generation,
        base_generation=plan.base_generation,
        rebased_from=target.generation if target.generation != plan.base_generation else None,
        gpus=len(moves),
        kept=len(steps) - len(moves),
        superseded=len(superseded),
        donors=Counter(step.from_holder for step in moves),
        receivers=Counter(step.project.slug if step.project else "" for step in moves),
    )
    tell(event, plan, moves)
    return plan


def _check_uncommitted(plan: Plan, target: Target, generation: int) -> None:
    plan.refresh_from_db(fields=["generation", "committed_at", "committed_by"])
    if plan.generation is not None:
        raise Stale(_("This plan has been committed already."), generation=plan.generation)
    if not plan.base_generation <= generation <= target.generation:
        message = _("You looked at generation %(seen)d; the plan was made on %(base)d, and %(now)d is in force.")
        numbers = {"seen": generation, "base": plan.base_generation, "now": target.generation}
        raise Stale(message % numbers, **numbers)


def _next_generation(plan: Plan, moves: Sequence[PlanStep], target: Target) -> int:
    known = 0
    if plan.purpose == Plan.Purpose.REPAIR:
        readings = Reading.objects.filter(gpu__in=[step.gpu_id for step in moves])
        plausible = readings.filter(generation__lte=target.generation + LIFT_MOST)
        known = plausible.aggregate(Max("generation"))["generation__max"] or 0
    return max(target.generation, known) + 1


def _instant_after(assignments: Sequence[Assignment]) -> datetime:
    """Now; a moment after the latest of the assignments began, should another machine's clock be ahead."""
    starts: list[datetime] = [assignment.during.lower for assignment in assignments]
    return max([timezone.now(), *(start + INSTANT for start in starts)])


def _supersede(gpus: Sequence[int], at: datetime) -> list[Move]:
    """Moves still open on these GPUs are superseded; one that is done meanwhile stays done."""
    still_open = Move.objects.filter(gpu__in=gpus, state__in=Move.OPEN).order_by("pk").select_for_update()
    return Move.objects.advance_many(list(still_open), Move.State.SUPERSEDED, superseded_at=at)


def _assign(moves: Sequence[PlanStep], generation: int, at: datetime) -> None:
    ending = [step.from_assignment_id for step in moves if step.from_assignment_id]
    until = Func(F("during__startswith"), Value(at), function="tstzrange", output_field=Assignment.during.field)
    Assignment.objects.filter(pk__in=ending).update(during=until)
    Assignment.objects.bulk_create(
        Assignment(
            gpu_id=step.gpu_id,
            project=step.project,
            grant_id=step.grant_id,
            generation=generation,
            during=DateTimeTZRange(at, None),
        )
        for step in moves
        if step.project
    )


def _begin(step: PlanStep, generation: int, at: datetime) -> Move:
    return Move(
        plan_id=step.plan_id,
        gpu_id=step.gpu_id,
        from_holder=step.from_holder,
        project=step.project,
        grant_id=step.grant_id,
        generation=generation,
        proposed_at=at,
    )


def _set_target(target: Target, plan: Plan, generation: int, by: Person, at: datetime) -> None:
    """Compare and set: both rows change only while they are what they were when the checks looked."""
    stamps = {"committed_by": by, "committed_at": at, "generation": generation}
    won = Target.objects.filter(pk=1, generation=target.generation).update(generation=generation, plan=plan)
    if not won or not Plan.objects.filter(pk=plan.pk, generation=None).update(**stamps):
        raise Stale(_("Somebody else committed a plan first. Look again."), generation=target.generation)
    for name, value in stamps.items():
        setattr(plan, name, value)
