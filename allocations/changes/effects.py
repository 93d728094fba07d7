"""What a change does with its last signature, under the locks of the shares and of the grant."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import grants
from allocations.changes.common import require_promised
from allocations.days import plus_days
from allocations.errors import WrongState
from allocations.grants import site_zone
from allocations.locks import lock_quotas, lock_row, lock_shares
from allocations.models import Grant, GrantChange, GrantSize, Person, Project
from inventory import trail

INSTANT = timedelta(microseconds=1)


def take_effect(change: GrantChange, *, by: Person) -> dict[str, Any]:
    """The locked change holds; what it did, for the trail. `change.takes_effect_at` says from when.

    Raises WrongState for a grant that has ended early, OverShare, OverCapacity.
    """
    grant = change.grant
    lock_shares(grant.model)
    lock_quotas(grant.project)
    lock_row(grant)
    if change.kind != GrantChange.Kind.RATIFY:  # one that is to end on a later day stands until then, ratified
        require_promised(grant)
    effects = {
        GrantChange.Kind.EXTEND: _extend,
        GrantChange.Kind.SHRINK: _shrink,
        GrantChange.Kind.END: _end,
        GrantChange.Kind.RATIFY: _ratify,
    }
    before = {"before_ends_at": grant.ends_at, "before_gpus": grant.gpus}
    effects[GrantChange.Kind(change.kind)](change, grant, by, timezone.now())
    grant.save(update_fields=["ends_at", "gpus", "ended_at", "ended_by", "ratified_at"])
    return {
        "grant": grant.public_id, **before, "ends_at": grant.ends_at, "gpus": grant.gpus,
        "takes_effect_at": change.takes_effect_at,
    }  # fmt: skip


def let_go(change: GrantChange, *, by: Person) -> None:
    """What stood only while this waited ends now: days past a grant's own end, an emergency; else it keeps its term."""
    if change.kind == GrantChange.Kind.RATIFY:
        grants.end_early(change.grant, by=by, reason=_("The emergency was not ratified."))
    if change.kind != GrantChange.Kind.EXTEND or change.takes_effect_at is None:
        return
    grant = change.grant
    lock_row(grant)
    now = timezone.now()
    if grant.ended_at is not None or grant.ends_at <= now:
        return
    before, grant.ends_at = grant.ends_at, max(now, change.takes_effect_at)
    grant.save(update_fields=["ends_at"])
    trail.record("grant.let_go", grant, by=by, before=before, after=grant.ends_at, change=change.public_id)


def shrink_now(grant: Grant, gpus: int, *, at: datetime) -> None:
    """The grant keeps so many from `at` on, or the fewer that it has; what it was until then stays as a row."""
    if gpus >= grant.gpus:
        return
    # Of two on one instant the first names what it was before it.
    GrantSize.objects.get_or_create(grant=grant, until=at, defaults={"gpus": grant.gpus})
    grant.gpus = gpus


def _extend(change: GrantChange, grant: Grant, by: Person, now: datetime) -> None:
    if grant.project.state == Project.State.ENDED:
        raise WrongState(_("%(project)s has ended: it can only be declined.") % {"project": grant.project.name})
    # Where the grant went on while this was asked, the days count from its own end, which the change then names.
    begins = change.takes_effect_at or max(grant.ends_at, now)
    until = max(plus_days(begins, change.days or 0, site_zone()), now)
    free_from = max(begins, grant.ends_at, now)
    if free_from < until:
        grants.require_room(
            project=grant.project, model=grant.model, gpus=grant.gpus, starts_at=free_from, ends_at=until,
            above_share=grant.is_emergency,
        )  # fmt: skip
    change.takes_effect_at, grant.ends_at = begins, until


def _shrink(change: GrantChange, grant: Grant, by: Person, now: datetime) -> None:
    _require_running(grant, now)
    change.takes_effect_at = max(change.takes_effect_at or now, now)
    if change.takes_effect_at <= now:
        shrink_now(grant, change.gpus or grant.gpus, at=change.takes_effect_at)


def _end(change: GrantChange, grant: Grant, by: Person, now: datetime) -> None:
    _require_running(grant, now)
    change.takes_effect_at = max(change.takes_effect_at or now, now)
    grant.ends_at = max(min(change.takes_effect_at, grant.ends_at), grant.starts_at)
    grant.ended_at, grant.ended_by = now, by


def _ratify(change: GrantChange, grant: Grant, by: Person, now: datetime) -> None:
    _require_running(grant, now)
    if grant.ratify_by is not None and grant.ratify_by <= now:
        raise WrongState(_("The time to ratify it was over; it has ended."), ratify_by=grant.ratify_by)
    change.takes_effect_at = grant.ratified_at = now


def _require_running(grant: Grant, now: datetime) -> None:
    if grant.ends_at <= now:
        raise WrongState(_("This grant has ended already."), ends_at=grant.ends_at)
