"""A plan for a need: exactly the GPUs that the grant lacks, from those that may be taken."""

from dataclasses import replace

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import planner, queries, rules
from allocations.errors import NothingToPlan
from allocations.models import Grant, Person, Plan
from allocations.plans.steps import Destination, write_plan


def propose_plan(*, grant: Grant, by: Person) -> Plan:
    """A plan that gives the grant what it lacks, or as much of it as can be had; nothing moves before it is committed.

    Takes no lock: it is made on the target that it names, and its commit finds out what has changed since.
    Raises NotAllowed, NothingToPlan (the need is met or over, or nothing may be taken; `facts["why"]` says what was
    left and why).
    """
    rules.require(by, "propose_plan", grant)
    now = timezone.now()
    snapshot = queries.build_snapshot(now=now)
    need = queries.need_of(grant, now=now)
    if need is None:
        raise NothingToPlan(_("This grant needs no GPUs: it has all of them, or it is not in force."))
    # A committed move begins at once: what somebody promised for later, even for before this grant starts, waits.
    proposal = planner.propose(snapshot, replace(need, starts_at=min(need.starts_at, now)))
    why = proposal.why.as_dict()
    if not proposal.picks:
        message = _("No GPU can be taken for this need now: %(gpus)d are missing.") % {"gpus": need.gpus}
        raise NothingToPlan(message, gpus=need.gpus, why=why)
    destinations = [Destination(pick.gpu_id, pick.source, grant.project, grant) for pick in proposal.picks]
    plan = Plan(
        purpose=Plan.Purpose.NEED,
        grant=grant,
        base_generation=snapshot.generation,
        survey_id=snapshot.survey_id,
        short_gpus=proposal.short,
        why=why,
    )
    with transaction.atomic():
        return write_plan(plan, destinations, by=by, grant=str(grant.public_id), short_gpus=plan.short_gpus)
