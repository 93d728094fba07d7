"""A length that counts from delivery: the minimum was first held, and the end moves by as much as that was late."""

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import grants, queries
from allocations.days import last_day
from allocations.errors import AllocationsError
from allocations.grants import site_zone, spoken
from allocations.locks import lock_row, lock_shares, one_at_a_time
from allocations.models import Grant, Pitch
from allocations.notify import page, tell
from inventory import trail

ACTOR = "changes"


def tend_deliveries() -> None:
    """Each grant that counts from delivery and has been delivered says when; may run late or twice."""
    waiting = Grant.objects.filter(
        counts_from=Pitch.CountsFrom.DELIVERY, delivered_at=None, ended_at=None, starts_at__lte=timezone.now()
    )
    for grant in waiting.select_related("pitch").order_by("pk"):
        at = queries.delivered_at(grant)
        if at is not None:
            _deliver(grant.pk, at)


@one_at_a_time
def _deliver(pk: int, at: datetime) -> None:
    """The grant's end moves by as much as its minimum came late, if that time can be promised; else people hear."""
    grant = Grant.objects.select_related("model", "project__division").get(pk=pk)
    lock_shares(grant.model)
    lock_row(grant)
    if grant.delivered_at is not None or grant.ended_at is not None:
        return
    before, grant.delivered_at = grant.ends_at, max(at, grant.starts_at)
    after = before + (grant.delivered_at - grant.starts_at)
    why = ""
    try:
        if after > before:
            grants.require_room(
                project=grant.project, model=grant.model, gpus=grant.gpus, starts_at=before, ends_at=after,
                above_share=grant.is_emergency,
            )  # fmt: skip
            grant.ends_at = after
    except AllocationsError as refusal:
        why = refusal.message
    grant.save(update_fields=["delivered_at", "ends_at"])
    event = trail.record(
        "grant.delivered", grant, by=ACTOR, reason=why, delivered_at=grant.delivered_at, before=before,
        after=grant.ends_at,
    )  # fmt: skip
    if not why:
        return
    words = {"project": grant.project.name, "last": spoken(last_day(before, site_zone())), "why": why}
    tell(
        event,
        {grant.project.lead, grant.issued_by},
        _("%(project)s was delivered late and still ends on %(last)s") % words,
        _("Its length should count from delivery, but the time after it cannot be promised. %(why)s") % words,
        page("grants", grant.public_id),
    )
