"""The record of those who ask: what was promised, held and used in the last 90 days, and how their asks went."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet, Sum
from django.utils import timezone

from allocations.capacity import Timeline, Weights
from allocations.models import Grant, Person, Pitch, Project
from allocations.queries.bookings import promised_over_time
from allocations.queries.desk import DECIDED, Past
from allocations.queries.totals import measure_in_force
from inventory.models import UsageDay

RECORD_DAYS = 90
HOUR_S = 3600


@dataclass(frozen=True)
class Record:
    """GPU-hours of the last `RECORD_DAYS`, counted by the weights in force, in hours of `unit`.

    `held_hours` and the rest are None where no machine tells them.
    """

    promised_hours: int
    held_hours: int | None
    busy_hours: int | None
    unknown_hours: int | None
    past: Past
    unit: str = ""

    @property
    def busy_pct(self) -> int | None:
        """Of the hours that are known about; None where none are."""
        if self.held_hours is None or self.busy_hours is None or self.unknown_hours is None:
            return None
        known = self.held_hours - self.unknown_hours
        return round(100 * self.busy_hours / known) if known > 0 else None


def record_of_project(project: Project) -> Record:
    """Of one project."""
    return _record(Q(project=project), [project.slug])


def record_of_lead(lead: Person) -> Record:
    """Of all projects that the person leads."""
    return _record(Q(project__lead=lead), list(lead.leads.values_list("slug", flat=True)))


def record_of_pitcher(pitcher: Person) -> Record:
    """Of what the person has pitched for; who used the GPUs of a project no machine tells."""
    return _record(Q(pitcher=pitcher), None)


def _record(asked: Q, holders: list[str] | None) -> Record:
    now = timezone.now()
    since = now - timedelta(days=RECORD_DAYS)
    decided = Pitch.objects.filter(asked).order_by().aggregate(**DECIDED)
    grants = Grant.objects.filter(pitch__in=Pitch.objects.filter(asked), starts_at__lt=now, ends_at__gt=since)
    measure = measure_in_force()
    used = _used(holders, since, measure.weights) if holders is not None else {}
    return Record(
        promised_hours=_promised(grants, since, now, measure.weights),
        held_hours=used.get("held"),
        busy_hours=used.get("busy"),
        unknown_hours=used.get("unknown"),
        past=Past(**decided),
        unit=measure.unit,
    )


def _promised(grants: QuerySet[Grant], since: datetime, now: datetime, weights: Weights) -> int:
    """GPU-hours of the grants in that time, of one that was made smaller as they were."""
    models, seconds = dict(grants.order_by().values_list("pk", "model__name")), 0.0
    for pk, parts in promised_over_time(grants).items():
        steps = Timeline.of(0, parts).steps(since, now)
        seconds += sum(step.gpus * step.seconds for step in steps) * float(weights.get(models[pk], 1))
    return round(seconds / HOUR_S)


def _used(holders: list[str], since: datetime, weights: Weights) -> dict[str, int]:
    """GPU-hours by what was done in them; nothing where no survey has seen the holders."""
    rows = UsageDay.objects.filter(holder__in=holders, on__gte=since.date()).values_list("gpu__model__name")
    seconds = {"busy": 0.0, "idle": 0.0, "unknown": 0.0}
    by_model = rows.annotate(busy=Sum("busy_s"), idle=Sum("idle_s"), unknown=Sum("unknown_s")).order_by()
    for model, *sums in by_model:
        for kind, one in zip(seconds, sums, strict=True):
            seconds[kind] += one * float(weights.get(model, 1))
    if not by_model:
        return {}
    hours = {kind: round(value / HOUR_S) for kind, value in seconds.items()}
    return {"held": sum(hours.values()), "busy": hours["busy"], "unknown": hours["unknown"]}
