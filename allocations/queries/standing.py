"""How projects and grants stand: what each has of every GPU model, for lists in a constant number of queries."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, DateTimeField, IntegerField, Max, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from allocations.models import Assignment, Grant, Holding, Project
from allocations.queries.lending import with_due_gpus
from inventory import queries as facts

# A card that was taken out of its slot is nobody's any more, whatever its last row says: what it leaves is a gap.
STANDS = Q(during__endswith__isnull=True, gpu__retired_at=None, gpu__node__retired_at=None)


class Standing(NamedTuple):
    """A project's GPUs of one model: promised, assigned, proven held; of these busy, and those that nobody knows about.

    `unknown`: no fresh reading tells their use. `until`: its last promise ends; None where nothing is promised now.
    """

    model: str
    promised: int = 0
    assigned: int = 0
    held: int = 0
    used: int = 0
    unknown: int = 0
    until: datetime | None = None


def standings_of(projects: Collection[Project]) -> dict[int, list[Standing]]:
    """Project pk -> what it has of each model, by the model's name; one query, and the loans'."""
    if not projects:
        return {}
    now = timezone.now()
    running = with_due_gpus(Grant.objects.filter(project__in=projects, starts_at__lte=now, ends_at__gt=now)).order_by()
    assigned = Assignment.objects.filter(STANDS, project__in=projects)
    held = Holding.objects.filter(STANDS, project__in=projects)
    known, busy = facts.use_is_known(gpu="gpu__", now=now), facts.is_used(gpu="gpu__", now=now)
    found: dict[tuple[int, str], dict[str, Any]] = defaultdict(dict)
    sums = {"gpus": Sum("due_gpus"), "until": Max("ends_at")}
    kinds = [
        _counted(running.values_list("project_id", "model__name"), "promised", **sums),
        _counted(assigned.values_list("project_id", "gpu__model__name"), "assigned"),
        _counted(
            held.values_list("project_id", "gpu__model__name"), "held",
            used=Count("pk", filter=busy), told=Count("pk", filter=known),
        ),
    ]  # fmt: skip
    for project_id, model, kind, gpus, used, told, until in kinds[0].union(*kinds[1:], all=True):
        found[project_id, model] |= {kind: gpus}
        if kind == "promised":
            found[project_id, model] |= {"until": until}
        if kind == "held":
            found[project_id, model] |= {"used": used, "unknown": gpus - told}
    standings: dict[int, list[Standing]] = {project.pk: [] for project in projects}
    for (project_id, model), numbers in sorted(found.items()):
        standings[project_id].append(Standing(model, **numbers))
    return standings


def _counted(rows: QuerySet[Any], kind: str, **numbers: Any) -> QuerySet[Any]:
    """`rows`, of project and model name, each with the kind, its GPUs, those used, those known about, and its end."""
    nothing = Value(None, output_field=DateTimeField())
    columns = {"gpus": Count("pk"), "used": Value(0), "told": Value(0), "until": nothing} | numbers
    counted: QuerySet[Any] = rows.order_by().annotate(kind=Value(kind), **columns)
    return counted


def with_gpus(grants: QuerySet[Grant]) -> QuerySet[Grant]:
    """The grants annotated `assigned_gpus` and `held_gpus`: meant for them, and proven in the project's hands.

    And `due_gpus`: the promise less what is lent just now.
    """

    def count(rows: QuerySet[Assignment] | QuerySet[Holding]) -> Coalesce:
        open_rows = rows.filter(STANDS, grant=OuterRef("pk")).order_by().values("grant").annotate(gpus=Count("pk"))
        return Coalesce(Subquery(open_rows.values("gpus"), output_field=IntegerField()), 0)

    return with_due_gpus(grants).annotate(
        assigned_gpus=count(Assignment.objects.all()), held_gpus=count(Holding.objects.all())
    )
