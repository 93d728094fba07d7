"""Leavers and newcomers: nodes hear a project's newest list of Unix ids without a new generation."""

from django.utils import timezone

from allocations import queries
from allocations.queries.access import Untold
from inventory import queries as facts
from inventory.drivers import loop
from inventory.drivers.base import Order, UnitOrder

# As for moves: what a crash may cost in repeated calls.
BATCH = 256


def tell_access() -> int:
    """Every node that answers has been told the newest list for the GPUs held there; how many orders that took.

    What a node made of it the next reading shows; until then it is told again. The generation is the one that the
    device shows, so that this never competes with a move.
    """
    untold = queries.untold_units(now=timezone.now())
    for first in range(0, len(untold), BATCH):
        loop.ensure_many([_order(each) for each in untold[first : first + BATCH]])
    return len(untold)


def _order(each: Untold) -> UnitOrder:
    order = Order(each.holder, each.generation, each.access.revision, each.access.unix_ids)
    return UnitOrder(facts.address_of(each.gpu.node), each.gpu.uuid or f"unit-{each.gpu.pk}", order)
