"""A release: GPUs that a project has no right to any more go back to nobody."""

from collections import defaultdict
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from allocations import planner, queries, rules
from allocations.errors import NothingToPlan
from allocations.models import Person, Plan, Project
from allocations.plans.steps import Destination, write_plan


def propose_release(*, project: Project, by: Person) -> Plan:
    """A plan that takes back every GPU whose grant or project has ended, or whose promised release has come.

    `why["left"]`: reason -> uuids of the others. What a fresh reading does not show in the project's hands is one of
    them: it is in a move, drifts, or nobody knows.
    Raises NotAllowed, NothingToPlan.
    """
    rules.require(by, "propose_plan", project)
    snapshot = queries.build_snapshot()
    theirs = [unit for unit in snapshot.units if unit.holder == project.slug]
    due = [unit for unit in theirs if is_due(unit, snapshot.taken_at)]
    left: dict[str, list[str]] = defaultdict(list)
    for unit in theirs:
        if not is_due(unit, snapshot.taken_at):
            left[unit.detail or unit.source].append(unit.uuid or str(unit.gpu_id))
    if not due:
        raise NothingToPlan(
            _("%(project)s has no GPU that can be taken back now.") % {"project": project}, left=dict(left)
        )
    plan = Plan(
        purpose=Plan.Purpose.RELEASE,
        base_generation=snapshot.generation,
        survey_id=snapshot.survey_id,
        why={"released_gpus": len(due), "left": dict(left)},
    )
    with transaction.atomic():
        destinations = [Destination(unit.gpu_id, unit.source) for unit in due]
        return write_plan(plan, destinations, by=by, project=project.slug)


def is_due(unit: planner.Unit, now: datetime) -> bool:
    """Whether the right to the GPU is over, or the instant has come for which the project promised it."""
    if unit.source is planner.Source.WINDING_DOWN:
        return unit.releases_at is not None and unit.releases_at <= now
    return unit.source is planner.Source.ENDED
