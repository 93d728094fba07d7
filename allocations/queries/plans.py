"""What ops and the executor ask about plans: needs, open moves, what is assigned, held and drifting."""

from collections import defaultdict
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from allocations.models import Assignment, Grant, Holding, Move, Project, Target
from allocations.queries.lending import with_due_gpus
from inventory import queries as facts
from inventory.models import Gpu

# A need shows one day before its grant starts: enough for ops to plan it in working hours, too little to hoard.
NEED_LOOKAHEAD = timedelta(days=1)
OPEN_ENDED = Q(during__endswith__isnull=True)


class ModelGpus(NamedTuple):
    """A project's GPUs of one model: promised by grants in force, assigned, proven held, and of these busy now."""

    model: str
    promised: int
    assigned: int
    held: int
    used: int


def target() -> Target:
    """The one target; before the first commit an unsaved row of generation 0."""
    return Target.objects.select_related("plan").filter(pk=1).first() or Target(pk=1)


def assignments_now() -> QuerySet[Assignment]:
    """Who is meant to hold what now."""
    return Assignment.objects.filter(OPEN_ENDED)


def holdings_now() -> QuerySet[Holding]:
    """Who is proven to hold what now."""
    return Holding.objects.filter(OPEN_ENDED).select_related("project", "gpu__node", "gpu__model", "grant")


def open_moves() -> QuerySet[Move]:
    """Moves on their way, oldest first."""
    return Move.objects.filter(state__in=Move.OPEN).select_related(
        "gpu__node", "gpu__model", "project", "plan", "grant"
    )


def needs(at: datetime | None = None) -> QuerySet[Grant]:
    """Grants in force at `at` (now), or that start within `NEED_LOOKAHEAD`, that lack GPUs; earliest start first.

    Annotated `assigned_gpus`, `due_gpus` (less what is lent just then) and `missing_gpus`. A retired card does not
    count as assigned, a lost one does: it may come back. A project that winds down or ended needs nothing, else it
    would ask back what it gives.
    """
    promised = with_assigned_gpus(with_due_gpus(Grant.objects.all(), at))
    at = at or timezone.now()
    return (
        promised.filter(starts_at__lte=at + NEED_LOOKAHEAD, ends_at__gt=at, project__state=Project.State.ACTIVE)
        .annotate(missing_gpus=F("due_gpus") - F("assigned_gpus"))
        .filter(missing_gpus__gt=0)
        .select_related("project__division", "model", "pitch")
        .order_by("starts_at", "pk")
    )


def needs_to_come(at: datetime, *, until: datetime) -> QuerySet[Grant]:
    """Grants of active projects that become needs after the next day and before `until`; earliest start first."""
    coming = Grant.objects.filter(starts_at__gt=at + NEED_LOOKAHEAD, starts_at__lt=until, ends_at__gt=F("starts_at"))
    active = coming.filter(project__state=Project.State.ACTIVE)
    return active.select_related("project__division", "model", "pitch").order_by("starts_at", "pk")


def with_assigned_gpus(grants: QuerySet[Grant]) -> QuerySet[Grant]:
    """The grants annotated `assigned_gpus`; a retired card does not count, a lost one does: it may come back."""
    assigned = (
        assignments_now()
        .filter(grant=OuterRef("pk"), gpu__retired_at=None, gpu__node__retired_at=None)
        .order_by()
        .values("grant")
        .annotate(gpus=Count("pk"))
        .values("gpus")
    )
    return grants.annotate(assigned_gpus=Coalesce(Subquery(assigned, output_field=IntegerField()), 0))


def drift(now: datetime | None = None) -> QuerySet[Gpu]:
    """GPUs that another holder has than the one they are assigned to, by a fresh reading, with no move open.

    Annotated `intended_holder`; the observed one is `reading.holder`, never None here: unknown is no drift.
    """
    intended = assignments_now().filter(gpu=OuterRef("pk")).values("project__slug")[:1]
    moving = Move.objects.filter(gpu=OuterRef("pk"), state__in=Move.OPEN)
    fresh = Q(reading__requested_at__gte=facts.fresh_after(now or timezone.now()), reading__holder__isnull=False)
    return (
        facts.units()
        .filter(fresh, ~Exists(moving), lost_at=None)
        .annotate(intended_holder=Coalesce(Subquery(intended), Value("")))
        .exclude(reading__holder=F("intended_holder"))
        .select_related("node", "model", "reading")
        .order_by("pk")
    )


def project_gpus(project: Project) -> list[ModelGpus]:
    """What the project has of each GPU model, by the model's name; models of which it has nothing are left out."""
    now = timezone.now()
    busy = facts.is_used(gpu="gpu__", now=now)
    in_force = Grant.objects.filter(project=project, starts_at__lte=now, ends_at__gt=now).order_by()
    there = Q(gpu__retired_at=None, gpu__node__retired_at=None)
    assigned = assignments_now().filter(there, project=project).order_by().values_list("gpu__model__name")
    held = Holding.objects.filter(OPEN_ENDED, there, project=project).order_by().values_list("gpu__model__name")
    by_kind = {
        "promised": with_due_gpus(in_force, now).values_list("model__name").annotate(gpus=Sum("due_gpus")),
        "assigned": assigned.annotate(gpus=Count("pk")),
        "held": held.annotate(gpus=Count("pk")),
        "used": held.filter(busy).annotate(gpus=Count("pk")),
    }
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for kind, rows in by_kind.items():
        for model, gpus in rows:
            counts[model][kind] = gpus
    return [ModelGpus(model, *(kinds.get(kind, 0) for kind in by_kind)) for model, kinds in sorted(counts.items())]
