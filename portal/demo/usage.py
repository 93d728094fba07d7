"""Two weeks of daily use for the demo's holdings, since a new fleet has no past of its own."""

from datetime import datetime, timedelta
from random import Random

from allocations.models import Assignment
from inventory.models import UsageDay
from portal.demo.projects import PROJECTS

DAYS = 14
DAY_S = 86_400
BUSY_SHARE = (0.66, 0.78)  # of an active project's seconds; public traces show a quarter to a third of samples at 0
IDLE_SHARE = (0.0, 0.04)


def invent(now: datetime) -> None:
    """Each assigned GPU has days of use before today, in its project's hands since the assignment began."""
    idle = {project.slug for project in PROJECTS if project.idle or project.ends != "active"}
    dice = Random(7)  # noqa: S311 - a demo looks the same each time
    rows = []
    for assignment in Assignment.objects.filter(during__contains=now).select_related("project").order_by("gpu_id"):
        share = IDLE_SHARE if assignment.project.slug in idle else BUSY_SHARE
        for days_ago in range(1, DAYS + 1):
            on = (now - timedelta(days=days_ago)).date()
            if assignment.during.lower.date() < on:
                busy_s = DAY_S * dice.uniform(*share)
                rows.append(
                    UsageDay(
                        on=on,
                        gpu_id=assignment.gpu_id,
                        holder=assignment.project.slug,
                        busy_s=busy_s,
                        idle_s=DAY_S - busy_s,
                        util_pct_s=busy_s * dice.uniform(80, 97),
                    )
                )
    UsageDay.objects.bulk_create(rows, batch_size=2_000)
