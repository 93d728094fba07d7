"""What the clock does to changes: grants that go on while asked, and smaller grants whose day has come."""

from datetime import datetime, timedelta

from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import grants
from allocations.changes.common import signers_of, tell_of, words_of
from allocations.changes.delivery import tend_deliveries
from allocations.changes.effects import shrink_now
from allocations.days import plus_days
from allocations.errors import AllocationsError
from allocations.grants import site_zone
from allocations.locks import lock_row, lock_shares, one_at_a_time
from allocations.models import GrantChange
from inventory import trail
from inventory.models import Event

ACTOR = "changes"
KEEP_AHEAD = timedelta(hours=1)  # before its end a grant that goes on gets its next day
KEEP_LATE = timedelta(days=2)  # no worker ran over its end: it goes on all the same, if it still fits


def tend() -> None:
    """What is due has happened; may run late, twice, or twice at once."""
    now = timezone.now()
    waiting = GrantChange.objects.filter(
        state=GrantChange.State.ASKED, kind=GrantChange.Kind.EXTEND, grant__keeps_while_asked=True,
        grant__ended_at=None, grant__ends_at__gt=now - KEEP_LATE, grant__ends_at__lte=now + KEEP_AHEAD,
    )  # fmt: skip
    for pk in waiting.order_by("pk").values_list("pk", flat=True):
        _keep(pk)
    for pk in _due_shrinks(now):
        _shrink(pk)
    tend_deliveries()


def _due_shrinks(now: datetime) -> list[int]:
    rows = GrantChange.objects.filter(
        state=GrantChange.State.APPROVED,
        kind=GrantChange.Kind.SHRINK,
        takes_effect_at__lte=now,
        grant__gpus__gt=F("gpus"),
        grant__ends_at__gt=F("takes_effect_at"),  # what ended before has nothing left to give
    )
    return list(rows.order_by("takes_effect_at", "pk").values_list("pk", flat=True))


@one_at_a_time
def _keep(pk: int) -> None:
    """The grant has one day more, as long as its extension waits and the day fits; the trail says so."""
    change = GrantChange.objects.select_related("grant__project__division", "grant__model").get(pk=pk)
    lock_row(change)
    grant, now = change.grant, timezone.now()
    lock_shares(grant.model)
    lock_row(grant)
    if change.state != GrantChange.State.ASKED or grant.ended_at is not None or grant.ends_at > now + KEEP_AHEAD:
        return
    before, after = grant.ends_at, grant.ends_at
    while after <= now + KEEP_AHEAD:
        after = plus_days(after, 1, site_zone())
    try:
        grants.require_room(
            project=grant.project, model=grant.model, gpus=grant.gpus, starts_at=max(before, now), ends_at=after,
            above_share=grant.is_emergency,
        )  # fmt: skip
    except AllocationsError as refusal:
        _say_not_kept(change, refusal)
        return
    if change.takes_effect_at is None:
        change.takes_effect_at = before
        change.save(update_fields=["takes_effect_at"])
    grant.ends_at = after
    grant.save(update_fields=["ends_at"])
    trail.record("grant.kept", grant, by=ACTOR, before=before, after=after, change=change.public_id)


def _say_not_kept(change: GrantChange, refusal: AllocationsError) -> None:
    """Once for a change: the grant ends on its day all the same, since others have been promised what it holds."""
    if Event.objects.filter(verb="grant.not_kept", subject_kind="grantchange", subject_id=str(change.pk)).exists():
        return
    event = trail.record("grant.not_kept", change, by=ACTOR, reason=refusal.message, grant=change.grant.public_id)
    subject = _("Ends on its day: %(what)s") % {"what": words_of(change)}
    body = _("The extension waits, and the grant cannot go on meanwhile. %(why)s") % {"why": refusal.message}
    tell_of(event, change, signers_of(change) | {change.asked_by, change.grant.project.lead}, subject, body)


@one_at_a_time
def _shrink(pk: int) -> None:
    change = GrantChange.objects.select_related("grant").get(pk=pk)
    grant = change.grant
    lock_row(grant)
    if change.takes_effect_at is None or grant.ends_at <= change.takes_effect_at:
        return
    before = grant.gpus
    shrink_now(grant, change.gpus or before, at=change.takes_effect_at)
    if grant.gpus == before:
        return
    grant.save(update_fields=["gpus"])
    trail.record("grant.shrunk", grant, by=ACTOR, before=before, after=grant.gpus, change=change.public_id)
