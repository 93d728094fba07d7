"""Cordons: a node is kept out of use for a while, with the reason; each one is a dated step of healthy capacity."""

from datetime import UTC, datetime

from django.db import models, transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.utils import timezone
from django.utils.translation import gettext as _

from inventory import trail
from inventory.errors import WrongCordon
from inventory.models import Cordon, Node

# Nearer to the calendar's end (year 9999) an instant cannot be shown in every zone.
LAST_END = datetime(2200, 1, 1, tzinfo=UTC)


@transaction.atomic
def set_cordon(
    *, node: Node, by: models.Model, reason: str, until: datetime | None = None, since: datetime | None = None
) -> Cordon:
    """`node` is out of use from now on, until somebody lifts that or until `until`. Whoever runs there goes on running.

    With `since` it is a maintenance window: out of use from then on. Locks the node. Raises WrongCordon when one is in
    force in that time, or when `until` has passed.
    """
    now = timezone.now()
    starts_at = now if since is None else max(now, since)
    if until is not None and until <= starts_at:
        raise WrongCordon(_("The end of a cordon lies in the future."), node=node.name)
    if until is not None and until > LAST_END:
        raise WrongCordon(_("That end is out of reach: leave it open instead."), node=node.name)
    Node.objects.select_for_update(of=("self",)).get(pk=node.pk)
    during = DateTimeTZRange(starts_at, until)
    if Cordon.objects.filter(node=node, during__overlap=during).exists():
        raise WrongCordon(_("%(node)s is cordoned already in that time.") % {"node": node.name}, node=node.name)
    cordon = Cordon.objects.create(node=node, during=during, reason=reason)
    trail.record("cordon.set", node, by=by, reason=reason, starts_at=starts_at, ends_at=until)
    return cordon


@transaction.atomic
def lift_cordon(*, node: Node, by: models.Model, reason: str = "") -> Cordon:
    """`node` may be used again from now on; its cordon stays as what was.

    Locks the node. Raises WrongCordon when none is in force.
    """
    now = timezone.now()
    Node.objects.select_for_update(of=("self",)).get(pk=node.pk)
    cordon = Cordon.objects.filter(node=node, during__contains=now).first()
    if cordon is None:
        raise WrongCordon(_("%(node)s is not cordoned.") % {"node": node.name}, node=node.name)
    planned_end = cordon.during.upper
    cordon.during = DateTimeTZRange(cordon.during.lower, now)
    cordon.save(update_fields=["during"])
    trail.record("cordon.lifted", node, by=by, reason=reason, before=planned_end, after=now, was_for=cordon.reason)
    return cordon
