"""How projects and grants stand: what each has of every GPU model, for lists in a constant number of queries."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, IntegerField, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from allocations.models import Assignment, Grant, Holding, Project
from inventory import queries as facts

OPEN_ENDED = Q(during__endswith__isnull=True)


class Standing(NamedTuple):
    """A project's GPUs of one model: promised, assigned, proven held, of these busy; `until`: its last promise ends."""

    model: str
    promised: int
    assigned: int
    held: int
    used: int
    until: datetime | None


def standings_of(projects: Collection[Project]) -> dict[int, list[Standing]]:
    """Project pk -> what it has of each model, by the model's name; five queries for any number of projects."""
    now = timezone.now()
    running = Grant.objects.filter(project__in=projects, starts_at__lte=now, ends_at__gt=now).order_by()
    held = Holding.objects.filter(OPEN_ENDED, project__in=projects)
    busy = Q(gpu__reading__requested_at__gte=facts.fresh_after(now), gpu__reading__util_pct__gt=0)
    by_gpu = ("project_id", "gpu__model__name")
    found: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)
    for kind, rows in (
        ("promised", running.values_list("project_id", "model__name").annotate(gpus=Sum("gpus"))),
        (
            "assigned",
            Assignment.objects.filter(OPEN_ENDED, project__in=projects).values_list(*by_gpu).annotate(gpus=Count("pk")),
        ),
        ("held", held.values_list(*by_gpu).annotate(gpus=Count("pk"))),
        ("used", held.filter(busy).values_list(*by_gpu).annotate(gpus=Count("pk"))),
    ):
        for project_id, model, gpus in rows:
            found[project_id, model][kind] = gpus
    ends = {
        (project_id, model): at
        for project_id, model, at in running.values_list("project_id", "model__name").annotate(at=Max("ends_at"))
    }
    standings: dict[int, list[Standing]] = {project.pk: [] for project in projects}
    for (project_id, model), kinds in sorted(found.items()):
        promised, assigned, proven, used = (kinds.get(kind, 0) for kind in ("promised", "assigned", "held", "used"))
        standings[project_id].append(
            Standing(model, promised, assigned, proven, used, until=ends.get((project_id, model)))
        )
    return standings


def with_gpus(grants: QuerySet[Grant]) -> QuerySet[Grant]:
    """The grants annotated `assigned_gpus` and `held_gpus`: meant for them, and proven in the project's hands."""

    def count(rows: QuerySet[Assignment] | QuerySet[Holding]) -> Coalesce:
        open_rows = rows.filter(OPEN_ENDED, grant=OuterRef("pk")).order_by().values("grant").annotate(gpus=Count("pk"))
        return Coalesce(Subquery(open_rows.values("gpus"), output_field=IntegerField()), 0)

    return grants.annotate(assigned_gpus=count(Assignment.objects.all()), held_gpus=count(Holding.objects.all()))
