"""What is signed about projects: the quota that bounds their promises, guarantees against the share, the history."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import QuerySet, Sum

from allocations.capacity import Booking, Timeline
from allocations.models import Division, Project, ProjectTerms
from allocations.queries.bookings import promised_until
from allocations.queries.promises import ModelCapacity


class OverTheQuota(NamedTuple):
    """The first instant at which an ask would stand above the project's quota, with the numbers there."""

    at: datetime
    quota_gpus: int
    promised_gpus: int


class Guarantees(NamedTuple):
    """GPUs that a division's projects are guaranteed together, and the share that has to hold them."""

    gpus: int
    share_gpus: int

    @property
    def is_over(self) -> bool:
        """Whether more is guaranteed than the division may promise."""
        return self.gpus > self.share_gpus


def terms_of(project: Project) -> QuerySet[ProjectTerms]:
    """All terms of the project that were ever signed, the latest first."""
    return project.terms.select_related("signed_by").order_by("-during")


def over_the_quota(project: Project, ask: Booking) -> OverTheQuota | None:
    """Where the ask would stand above a quota of the project, None if nowhere. What is lent counts for the lender."""
    during = DateTimeTZRange(ask.starts_at, ask.ends_at)
    rows = list(project.terms.filter(quota_gpus__isnull=False, during__overlap=during).order_by("during"))
    if not rows:
        return None
    grants = promised_until(at=ask.starts_at).filter(project=project).values_list("starts_at", "ends_at", "gpus")
    promised = Timeline.of(0, [Booking(*row) for row in grants.order_by()])
    for terms in rows:
        start = max(ask.starts_at, terms.during.lower or ask.starts_at)
        ends = [end for end in (ask.ends_at, terms.during.upper) if end is not None]
        for step in promised.steps(start, min(ends, default=None)):
            if step.gpus + ask.gpus > (terms.quota_gpus or 0):
                return OverTheQuota(step.starts_at or start, terms.quota_gpus or 0, step.gpus)
    return None


def guarantees_of(division: Division, capacities: Iterable[ModelCapacity], *, at: datetime) -> Guarantees:
    """What terms in force at that instant guarantee in the division, against its share of all models together."""
    rows = ProjectTerms.objects.filter(project__division=division, during__contains=at)
    total = rows.exclude(project__state=Project.State.ENDED).aggregate(gpus=Sum("guarantee_gpus"))["gpus"] or 0
    return Guarantees(total, sum(room.divisions[division.slug].share.at(at) for room in capacities))
