"""GPUs in a project's hands, and what is judged of them."""

from datetime import datetime, timedelta

from django.utils import timezone

from allocations.models import Grant, Project
from inventory.models import Activity, Gpu
from tests import factories

MINUTE = timedelta(minutes=1)


def held(project: Project, *, gpus: int = 2, **fields) -> tuple[Grant, list[Gpu]]:
    """A grant that is assigned and held whole since yesterday, with GPUs that are judged active."""
    since = timezone.now() - timedelta(days=1)
    grant = factories.grant(project, gpus=gpus, starts_at=since, **fields)
    units = factories.fleet(gpus=gpus)
    for unit in units:
        factories.assignment(unit, project, grant=grant, since=since)
    judge(units, "active", holder=project.slug, since=since)
    return grant, units


def judge(units: list[Gpu], state: str, *, holder: str, since: datetime | None = None, **fields) -> None:
    """The GPUs are judged so, since that instant (now)."""
    now = timezone.now()
    values = {"state": state, "holder": holder, "since": since or now, "judged_at": now, "coverage_pct": 100.0}
    values |= {"util_mean_pct": 0.0, "util_max_pct": 0.0, "power_mean_w": 70.0}
    for unit in units:
        Activity.objects.update_or_create(gpu=unit, defaults=values | fields)
