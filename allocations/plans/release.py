"""A release: GPUs that a project has no right to any more go back to nobody."""

from collections import defaultdict

from django.db import transaction
from django.utils.translation import gettext as _

from allocations import planner, queries, rules
from allocations.errors import NothingToPlan
from allocations.models import Person, Plan, Project
from allocations.plans.steps import Destination, write_plan


def propose_release(*, project: Project, by: Person) -> Plan:
    """A plan that takes back every GPU whose grant, or the project itself, has ended; `why["left"]`: reason -> uuids.

    What a fresh reading does not show in the project's hands is left: it is in a move, drifts, or nobody knows.
    Raises NotAllowed, NothingToPlan.
    """
    rules.require(by, "propose_plan", project)
    snapshot = queries.build_snapshot()
    theirs = [unit for unit in snapshot.units if unit.holder == project.slug]
    ended = [unit for unit in theirs if unit.source is planner.Source.ENDED]
    left: dict[str, list[str]] = defaultdict(list)
    for unit in theirs:
        if unit.source is not planner.Source.ENDED:
            left[unit.detail or unit.source].append(unit.uuid or str(unit.gpu_id))
    if not ended:
        raise NothingToPlan(
            _("%(project)s has no GPU that can be taken back now.") % {"project": project}, left=dict(left)
        )
    plan = Plan(
        purpose=Plan.Purpose.RELEASE,
        base_generation=snapshot.generation,
        survey_id=snapshot.survey_id,
        why={"released_gpus": len(ended), "left": dict(left)},
    )
    with transaction.atomic():
        destinations = [Destination(unit.gpu_id, unit.source) for unit in ended]
        return write_plan(plan, destinations, by=by, project=project.slug)
