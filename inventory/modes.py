"""Modes: how far the agents of an island go, wanted by ops and told to the nodes until they say so themselves."""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from inventory import trail
from inventory.drivers import loop
from inventory.drivers.base import Settings
from inventory.errors import InventoryError, WrongMode
from inventory.models import Node
from inventory.queries import address_of, polled_nodes

# A node that answers is told within a poll or two. One that refuses for longer lacks something that a person must put
# right: every sixth time is soon enough to see that it is there.
REFUSES_FOR = timedelta(minutes=5)
REFUSES_EVERY = 6

log = logging.getLogger(__name__)


@transaction.atomic
def set_mode(*, nodes: Iterable[Node], mode: str, by: models.Model | str, reason: str) -> list[Node]:
    """The agents of `nodes` are to work in that mode; those for which that is new, by id. Nothing is told yet.

    Locks the nodes by id. Raises WrongMode where none of them has an agent that has modes.
    """
    keys = [node.pk for node in nodes]
    rows = Node.objects.filter(pk__in=keys, retired_at=None, driver=Node.Driver.AGENT)
    locked = list(rows.select_for_update(of=("self",)).order_by("pk"))
    if not locked:
        raise WrongMode(_("No node there has an agent that has modes."))
    # A mode that nobody chose yet is news even if it is the same.
    news = [node for node in locked if node.mode != mode or node.mode_since is None]
    changed = [(node, {"before": node.mode, "after": mode}) for node in news]
    Node.objects.filter(pk__in=[node.pk for node in news]).update(mode=mode, mode_since=timezone.now())
    trail.record_many("node.mode", changed, by=by, reason=reason)
    return news


def tell_modes() -> int:
    """Nodes that answer and say another mode than the wanted one are told; how many of them took it.

    Takes seconds: not inside a transaction. What they do then is for the next survey to say.
    """
    nodes = list(nodes_to_tell(now=timezone.now()))
    if not nodes:
        return 0
    answers = loop.settings_many([(address_of(node), Settings(node.mode)) for node in nodes])  # type: ignore[arg-type]
    for node, answer in zip(nodes, answers, strict=True):
        if isinstance(answer, InventoryError):
            log.info("mode not taken", extra={"node": node.name, "mode": node.mode, "why": str(answer)})
    return sum(answer is None for answer in answers)


def nodes_to_tell(*, now: datetime) -> QuerySet[Node]:
    """Nodes whose wanted mode is not the one they say, by id. Silent ones are told once they answer again.

    Where nobody chose a mode (`mode_since` is null) nothing is told: nothing switches itself on.
    """
    in_turn = Q(mode_since__gt=now - REFUSES_FOR) | Q(turn=0)
    tick = int(now.timestamp()) // int(settings.POLL_INTERVAL_S)
    chosen = polled_nodes().filter(driver=Node.Driver.AGENT, mode_since__isnull=False)
    answering = chosen.filter(silent_since=None).exclude(said_mode="")
    told = answering.exclude(said_mode=F("mode")).annotate(turn=(F("pk") + tick) % REFUSES_EVERY)
    return told.filter(in_turn).order_by("pk")
