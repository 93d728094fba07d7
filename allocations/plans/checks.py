"""What must still be so when a plan is committed: its GPUs, the right to take them, the need that it meets."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import planner, queries
from allocations.errors import Stale, Uncovered
from allocations.models import Grant, Move, Plan, PlanStep, Project
from allocations.plans.release import is_due
from allocations.plans.repair import failed_units
from allocations.plans.steps import current_assignments
from inventory import queries as facts

NAMED_GPUS = 5  # how many GPUs a refusal names; its facts have all
MAY_BE_TAKEN = (planner.Source.FREE, planner.Source.ENDED, planner.Source.WINDING_DOWN)  # the kinder ones first


def check_all(plan: Plan, steps: Sequence[PlanStep], moves: Sequence[PlanStep]) -> None:
    """Nothing that the plan rests on has changed. The target must be locked. Raises Uncovered, Stale."""
    _check_covered(plan, steps)
    _check_untouched(plan, moves)
    _RESTS_ON[Plan.Purpose(plan.purpose)](plan, moves)
    _check_grants(moves)


def _check_covered(plan: Plan, steps: Iterable[PlanStep]) -> None:
    """Every move that was open when the plan was made is kept or replaced, else a GPU is stranded between two plans."""
    named = {step.gpu_id for step in steps}
    open_then = queries.open_moves().filter(generation__lte=plan.base_generation)
    forgotten = [str(move.gpu) for move in open_then if move.gpu_id not in named]
    if forgotten:
        raise Uncovered(_("The plan forgets open moves of %(gpus)s.") % {"gpus": _names(forgotten)}, gpus=forgotten)


def _check_untouched(plan: Plan, moves: Sequence[PlanStep]) -> None:
    """No commit since the proposal has touched a GPU of the plan."""
    gpus = [step.gpu_id for step in moves]
    assigned = current_assignments(gpus)
    newer = Move.objects.filter(gpu__in=gpus, generation__gt=plan.base_generation)
    moved = set(newer.values_list("gpu_id", flat=True))
    _refuse_changed(
        moves, lambda step: step.gpu_id in moved or _pk(assigned.get(step.gpu_id)) != step.from_assignment_id
    )


def _check_need(plan: Plan, moves: Sequence[PlanStep]) -> None:
    """The need is still that large, and whatever was free, ended or winding down still is."""
    assert plan.grant is not None, "the database refuses a need without grant"
    need: Any = queries.needs().filter(pk=plan.grant.pk).first()
    missing = need.missing_gpus if need else 0
    if missing < len(moves):
        message = _("The plan brings %(gpus)d GPUs, but only %(missing)d are missing now.")
        numbers = {"gpus": len(moves), "missing": missing}
        raise Stale(message % numbers, **numbers)
    units, now = _units(moves), timezone.now()

    def is_worse(step: PlanStep) -> bool:
        unit = units.get(step.gpu_id)
        if unit is None or unit.source not in MAY_BE_TAKEN:
            return True
        if MAY_BE_TAKEN.index(unit.source) > MAY_BE_TAKEN.index(planner.Source(step.source)):
            return True
        promised = unit.source is planner.Source.WINDING_DOWN
        return promised and (unit.releases_at is None or unit.releases_at > now)

    _refuse_changed(moves, is_worse)


def _check_release(plan: Plan, moves: Sequence[PlanStep]) -> None:
    """Every GPU is still due back."""
    now = timezone.now()
    due = {pk for pk, unit in _units(moves).items() if is_due(unit, now)}
    _refuse_changed(moves, lambda step: step.gpu_id not in due)


def _check_repair(plan: Plan, moves: Sequence[PlanStep]) -> None:
    """Every GPU still drifts, or its last move is still a failed one; and none was lost since."""
    broken = {gpu.pk for gpu in queries.drift()} | {gpu.pk for gpu in failed_units() if gpu.lost_at is None}
    _refuse_changed(moves, lambda step: step.gpu_id not in broken)


def _check_adoption(plan: Plan, moves: Sequence[PlanStep]) -> None:
    """Every node still shows the holder that the plan found there, and no project among them has ended."""
    shown = {gpu.pk: gpu.reading.holder for gpu in queries.drift()}
    _refuse_changed(
        moves,
        lambda step: (
            shown.get(step.gpu_id) != step.from_holder
            or (step.project is not None and step.project.state == Project.State.ENDED)
        ),
    )


def _check_undo(plan: Plan, moves: Sequence[PlanStep]) -> None:
    """No GPU was lost or retired since."""
    here = facts.units().filter(pk__in=[step.gpu_id for step in moves], lost_at=None)
    present = set(here.values_list("pk", flat=True))
    _refuse_changed(moves, lambda step: step.gpu_id not in present)


_RESTS_ON: Mapping[Plan.Purpose, Callable[[Plan, Sequence[PlanStep]], None]] = {
    Plan.Purpose.NEED: _check_need,
    Plan.Purpose.RELEASE: _check_release,
    Plan.Purpose.REPAIR: _check_repair,
    Plan.Purpose.ADOPT: _check_adoption,
    Plan.Purpose.UNDO: _check_undo,
}


def _check_grants(moves: Sequence[PlanStep]) -> None:
    """No grant gets more GPUs than it promises."""
    arriving = Counter(step.grant_id for step in moves if step.grant_id)
    leaving = [step.gpu_id for step in moves]
    here = Q(assignments__during__endswith__isnull=True) & ~Q(assignments__gpu__in=leaving)
    here &= Q(assignments__gpu__retired_at=None, assignments__gpu__node__retired_at=None)
    for grant in (
        Grant.objects.filter(pk__in=arriving).annotate(staying=Count("assignments", filter=here)).order_by("pk")
    ):
        gpus = grant.staying + arriving[grant.pk]
        if gpus > grant.gpus:
            message = _("%(grant)s would have %(gpus)d GPUs.") % {"grant": grant, "gpus": gpus}
            raise Stale(message, gpus=gpus, promised=grant.gpus)


def _refuse_changed(moves: Sequence[PlanStep], is_changed: Callable[[PlanStep], bool]) -> None:
    changed = [str(step.gpu) for step in moves if is_changed(step)]
    if changed:
        message = _("Since the proposal something has changed about %(gpus)s. Propose again.") % {
            "gpus": _names(changed)
        }
        raise Stale(message, gpus=changed)


def _units(moves: Sequence[PlanStep]) -> dict[int, planner.Unit]:
    return {unit.gpu_id: unit for unit in queries.build_snapshot([step.gpu_id for step in moves]).units}


def _pk(row: object) -> int | None:
    return getattr(row, "pk", None)


def _names(gpus: Sequence[str]) -> str:
    named = ", ".join(gpus[:NAMED_GPUS])
    if len(gpus) <= NAMED_GPUS:
        return named
    return _("%(named)s and %(more)d more") % {"named": named, "more": len(gpus) - NAMED_GPUS}
