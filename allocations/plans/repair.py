"""Repair: where a node shows another holder than intended, or a move failed, the intended holder is ordered anew."""

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from allocations import queries, rules
from allocations.errors import NothingToPlan
from allocations.models import Move, Person, Plan
from allocations.plans.steps import DRIFT, FAILED, Destination, current_assignments, write_plan
from inventory import queries as facts
from inventory.models import Gpu


@transaction.atomic
def propose_repair(*, by: Person) -> Plan:
    """A plan that orders the intended holder of every drifting GPU, and of every one whose last move failed, once more.

    Nobody's assignment changes by it. `why`: how many for which reason, and `left`: uuids of lost ones that no order
    reaches. Raises NotAllowed, NothingToPlan.
    """
    rules.require(by, "propose_plan")
    generation = queries.target().generation
    drifting = {gpu.pk: gpu.reading.holder for gpu in queries.drift()}
    failed = {gpu.pk: gpu for gpu in failed_units() if gpu.pk not in drifting}
    reachable = [pk for pk, gpu in failed.items() if gpu.lost_at is None]
    if not drifting and not reachable:
        raise NothingToPlan(_("Nothing drifts, and no failed move can be repaired."))
    assigned = current_assignments([*drifting, *reachable])
    reasons = dict.fromkeys(drifting, DRIFT) | dict.fromkeys(reachable, FAILED)
    destinations = []
    for pk, source in reasons.items():
        row = assigned.get(pk)
        project, grant = (row.project, row.grant) if row else (None, None)
        destinations.append(Destination(pk, source, project, grant, observed=drifting.get(pk)))
    plan = Plan(
        purpose=Plan.Purpose.REPAIR,
        base_generation=generation,
        why={
            "drifting_gpus": len(drifting),
            "failed_gpus": len(reachable),
            "left": {"lost": [str(gpu) for gpu in failed.values() if gpu.lost_at is not None]},
        },
    )
    return write_plan(plan, destinations, by=by)


def failed_units() -> list[Gpu]:
    """GPUs whose newest move failed."""
    newer = Move.objects.filter(gpu=OuterRef("gpu"), generation__gt=OuterRef("generation"))
    failed = Move.objects.filter(~Exists(newer), state=Move.State.FAILED)
    return list(facts.units().filter(pk__in=failed.values("gpu")).order_by("pk"))
