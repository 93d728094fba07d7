"""Adoption: where nodes show another holder than intended, what they show becomes the intention; nobody is moved."""

from collections import Counter, defaultdict

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import queries, rules
from allocations.errors import NothingToPlan
from allocations.models import Grant, Person, Plan, Project
from allocations.plans.steps import ADOPTED, Destination, write_plan
from inventory.models import Gpu


@transaction.atomic
def propose_adoption(*, by: Person) -> Plan:
    """A plan that assigns every drifting GPU to the project that its node shows, under a grant that lacks GPUs if any.

    As after the restore of an older backup: the nodes know of moves that the database forgot. `why["left"]`: uuids of
    those whose holder is no project that goes on. Raises NotAllowed, NothingToPlan.
    """
    rules.require(by, "propose_plan")
    generation = queries.target().generation
    drifting = list(queries.drift())
    projects = {row.slug: row for row in Project.objects.exclude(state=Project.State.ENDED)}
    vacancies = _vacancies()
    destinations, left = [], []
    for gpu in drifting:
        holder = gpu.reading.holder or ""
        if holder and holder not in projects:
            left.append(str(gpu))
            continue
        project = projects.get(holder)
        grant = _take(vacancies, project, gpu) if project else None
        destinations.append(Destination(gpu.pk, ADOPTED, project, grant, observed=holder))
    if not destinations:
        raise NothingToPlan(_("No node shows another project than intended."), left={"unknown holder": left})
    plan = Plan(
        purpose=Plan.Purpose.ADOPT,
        base_generation=generation,
        why={"adopted_gpus": len(destinations), "left": {"unknown holder": left} if left else {}},
    )
    return write_plan(plan, destinations, by=by)


def _vacancies() -> dict[tuple[int, int], list[Grant]]:
    """(project key, model key) -> running grants, one entry for each GPU that they lack, the oldest first."""
    now = timezone.now()
    assigned = Counter(
        queries.assignments_now().filter(grant__isnull=False).order_by().values_list("grant_id", flat=True)
    )
    found: dict[tuple[int, int], list[Grant]] = defaultdict(list)
    for grant in Grant.objects.filter(starts_at__lte=now, ends_at__gt=now).order_by("starts_at", "pk"):
        found[grant.project_id, grant.model_id] += [grant] * max(0, grant.gpus - assigned[grant.pk])
    return found


def _take(vacancies: dict[tuple[int, int], list[Grant]], project: Project, gpu: Gpu) -> Grant | None:
    waiting = vacancies.get((project.pk, gpu.model_id))
    return waiting.pop(0) if waiting else None
