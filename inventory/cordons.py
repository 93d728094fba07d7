"""Cordons: nodes are kept out of use for a while, with the reason; each one is a dated step of healthy capacity."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from django.db import models, transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from inventory import trail
from inventory.errors import WrongCordon
from inventory.models import Cordon, Node

# Nearer to the calendar's end (year 9999) an instant cannot be shown in every zone.
LAST_END = datetime(2200, 1, 1, tzinfo=UTC)
NAMES_TOLD = 3  # more names are no sentence


def set_cordon(
    *, node: Node, by: models.Model, reason: str, until: datetime | None = None, since: datetime | None = None
) -> Cordon:
    """As `set_cordons`, for one node."""
    return set_cordons(nodes=[node], by=by, reason=reason, until=until, since=since)[0]


@transaction.atomic
def set_cordons(
    *,
    nodes: Iterable[Node],
    by: models.Model,
    reason: str,
    until: datetime | None = None,
    since: datetime | None = None,
) -> list[Cordon]:
    """All `nodes` are out of use from now on, until somebody lifts that or until `until`. What runs there goes on.

    With `since` it is a maintenance window: out of use from then on. Locks the nodes by id. Raises WrongCordon, and
    then none is cordoned, when one is in force on any of them in that time, or when `until` has passed.
    """
    now = timezone.now()
    names = {node.pk: node.name for node in nodes}
    starts_at = now if since is None else max(now, since)
    if not names:
        raise WrongCordon(_("There is no node in use there."))
    if until is not None and until <= starts_at:
        raise WrongCordon(_("The end of a cordon lies in the future."), node=_named(names.values()))
    if max(starts_at, until or starts_at) > LAST_END:
        raise WrongCordon(_("That end is out of reach: leave it open instead."), node=_named(names.values()))
    rows = list(Node.objects.filter(pk__in=names).select_for_update(of=("self",)).order_by("pk"))
    during = DateTimeTZRange(starts_at, until)
    taken = Cordon.objects.filter(node__in=rows, during__overlap=during).order_by("node__name")
    if taken_names := list(dict.fromkeys(taken.values_list("node__name", flat=True))):
        said = _("%(node)s is cordoned already in that time.") if len(taken_names) == 1 else _(
            "%(node)s are cordoned already in that time."
        )  # fmt: skip
        raise WrongCordon(said % {"node": _named(taken_names)}, node=_named(taken_names))
    cordons = Cordon.objects.bulk_create(Cordon(node=node, during=during, reason=reason) for node in rows)
    facts = {"starts_at": starts_at, "ends_at": until}
    trail.record_many("cordon.set", [(node, facts) for node in rows], by=by, reason=reason)
    return cordons


@transaction.atomic
def lift_cordon(*, node: Node, by: models.Model, reason: str = "") -> Cordon:
    """`node` may be used again from now on; its cordon stays as what was.

    Locks the node. Raises WrongCordon when none is in force.
    """
    now = timezone.now()
    Node.objects.select_for_update(of=("self",)).get(pk=node.pk)
    cordon = Cordon.objects.filter(node=node, during__contains=now).select_related("node").first()
    if cordon is None:
        raise WrongCordon(_("%(node)s is not cordoned.") % {"node": node.name}, node=node.name)
    _lift([cordon], now, by, reason)
    return cordon


@transaction.atomic
def lift_cordons(*, cordons: Iterable[Cordon], by: models.Model, reason: str = "") -> list[Cordon]:
    """Those in force end now, those to come never begin; the trail keeps both.

    Locks their nodes by id. Raises WrongCordon when none of them is left to lift.
    """
    keys = {cordon.pk: cordon.node_id for cordon in cordons}
    list(Node.objects.filter(pk__in=keys.values()).select_for_update(of=("self",)).order_by("pk").values_list("pk"))
    now = timezone.now()
    rows = Cordon.objects.filter(pk__in=keys).select_related("node").order_by("node__name")
    found = [row for row in rows if row.during.upper is None or row.during.upper > now]
    if not found:
        raise WrongCordon(_("That window is over or was lifted before."))
    _lift(found, now, by, reason)
    return found


def _lift(cordons: Sequence[Cordon], now: datetime, by: models.Model, reason: str) -> None:
    events = [
        (row.node, {"before": row.during.upper, "after": now, "began": row.during.lower, "was_for": row.reason})
        for row in cordons
    ]
    begun = [row for row in cordons if row.during.lower <= now]
    for row in begun:
        row.during = DateTimeTZRange(row.during.lower, now)
    Cordon.objects.bulk_update(begun, ["during"])
    # One that never began never was: no row says that the node was out of use.
    Cordon.objects.filter(pk__in=[row.pk for row in cordons if row not in begun]).delete()
    trail.record_many("cordon.lifted", events, by=by, reason=reason)


def _named(names: Iterable[str]) -> str:
    told = list(names)
    more = len(told) - NAMES_TOLD
    first = ", ".join(told[:NAMES_TOLD])
    return first if more <= 0 else ngettext("%(first)s and %(n)d more", "%(first)s and %(n)d more", more) % {
        "first": first, "n": more
    }  # fmt: skip
