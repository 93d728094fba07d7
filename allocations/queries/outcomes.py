"""What came of grants: what their people said, when the minimum was there, GPU-days promised and not delivered."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime

from django.utils import timezone

from allocations.capacity import Booking, Timeline
from allocations.models import Grant, Holding, Project, ResultCheck
from allocations.queries.bookings import promised_over_time

DAY_S = 86_400


def results_of(projects: Collection[Project] | Collection[int]) -> dict[int, list[ResultCheck]]:
    """Project pk -> what its people answered about its grants, the newest first; one query for any number."""
    answered = ResultCheck.objects.filter(grant__project__in=projects).exclude(outcome="")
    found: dict[int, list[ResultCheck]] = defaultdict(list)
    for check in answered.select_related("grant__pitch", "grant__model", "answered_by").order_by("-answered_at"):
        found[check.grant.project_id].append(check)
    return dict(found)


def results_due(projects: Collection[Project] | Collection[int]) -> dict[int, int]:
    """Project pk -> how many of its grants were asked about and not answered."""
    due: dict[int, int] = defaultdict(int)
    rows = ResultCheck.objects.filter(grant__project__in=projects, outcome="").values_list("grant__project", flat=True)
    for project in rows:
        due[project] += 1
    return dict(due)


def delivered_at(grant: Grant) -> datetime | None:
    """When the grant's minimum was first proven in the project's hands; None while it has not been."""
    held = _held([grant])[grant.pk]
    if not held:
        return None
    promised = Timeline.of(0, promised_over_time(Grant.objects.filter(pk=grant.pk))[grant.pk])
    least = grant.pitch.min_gpus if grant.pitch else promised.at(grant.starts_at)
    steps = Timeline.of(0, held).changes
    return next((at for at, gpus in steps if gpus >= min(least, promised.at(max(at, grant.starts_at)) or least)), None)


def late_gpu_days(grants: Collection[Grant], *, at: datetime | None = None) -> dict[int, float]:
    """Grant pk -> GPU-days promised up to now and not proven in the project's hands; two queries for any number."""
    at = at or timezone.now()
    held = _held(grants)
    promised = promised_over_time(Grant.objects.filter(pk__in=[grant.pk for grant in grants]))
    return {grant.pk: _late(grant, promised[grant.pk], held[grant.pk], at) for grant in grants}


def _late(grant: Grant, promised: list[Booking], held: list[Booking], at: datetime) -> float:
    until = min(grant.ends_at, at)
    if until <= grant.starts_at:
        return 0.0
    missing = (Timeline.of(0, promised) - Timeline.of(0, held)).clamp(low=0)
    return sum(step.gpus * step.seconds for step in missing.steps(grant.starts_at, until)) / DAY_S


def _held(grants: Iterable[Grant]) -> dict[int, list[Booking]]:
    held: dict[int, list[Booking]] = defaultdict(list)
    for pk, during in Holding.objects.filter(grant__in=grants).values_list("grant_id", "during"):
        held[pk or 0].append(Booking(during.lower, during.upper, 1))
    return held
