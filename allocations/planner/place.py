"""Which GPUs exactly: whole nodes where they fit, the rest from nodes that are broken up already."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .choose import Draw, taking
from .fill import fill
from .offers import Stock
from .snapshot import Fleet, Island, Need, Unit


@dataclass(frozen=True, slots=True)
class Placed:
    """The units of a plan; `broken` nodes were whole before, `leftover` GPUs stay on offer on the islands it uses."""

    draw: Draw
    units: tuple[Unit, ...]
    nodes: int
    broken: int
    leftover: int

    @property
    def rank(self) -> tuple[int, int, int, list[Island]]:
        """The smaller the better: fewest broken nodes, fewest nodes, best fit, and the names so that it is decided."""
        return (self.broken, self.nodes, self.leftover, sorted({unit.where for unit in self.units}))


def place(draw: Draw, fleet: Fleet, need: Need, stock: Stock) -> Placed:
    """The draw with its GPUs named, in canonical order."""
    if need.whole_nodes:
        units, broken = _whole(draw, stock), 0
    else:
        units, broken = _single(draw, fleet, stock)
    used = {unit.where for unit in units}
    there = sum(offer.size * len(offer.lots) for offer in draw.offers if offer.where in used)
    ordered = tuple(sorted(units, key=canonical))
    return Placed(draw, ordered, len({unit.node for unit in units}), broken, there - len(units))


def canonical(unit: Unit) -> tuple[str, str, str, int]:
    """Where a unit stands in every list of a plan."""
    return (unit.site, unit.island, unit.node, unit.gpu_id)


def _whole(draw: Draw, stock: Stock) -> list[Unit]:
    """Node by node, first where the grant is already."""
    units: list[Unit] = []
    for offer, count in taking(draw.offers, draw.filled, lambda offer: (offer.where not in stock.base, offer.where)):
        lots = sorted((sorted(lot.units, key=canonical) for lot in offer.lots), key=lambda lot: canonical(lot[0]))
        units.extend(unit for lot in lots[:count] for unit in lot)
    return units


def _single(draw: Draw, fleet: Fleet, stock: Stock) -> tuple[list[Unit], int]:
    """All of the cheaper offers, and of the dearest kind those that break up the fewest nodes."""
    taken: list[Unit] = []
    pool: dict[str, list[Unit]] = defaultdict(list)
    edge = max(offer.cost for offer, _ in taking(draw.offers, draw.filled, lambda _: 0))
    for offer in draw.offers:
        if offer.cost < edge:
            taken.extend(unit for lot in offer.lots for unit in lot.units)
        elif offer.cost == edge:
            for lot in offer.lots:
                pool[lot.units[0].node].append(lot.units[0])
    ours = Counter(stock.own)
    ours.update(unit.node for unit in taken)
    more, broken = _from_pool(pool, ours, fleet, draw.filled.gpus - len(taken))
    return [*taken, *more], broken


def _from_pool(
    pool: Mapping[str, list[Unit]], ours: Mapping[str, int], fleet: Fleet, gpus: int
) -> tuple[list[Unit], int]:
    """So many units of the pool, and how many whole nodes that breaks up: 0 if any choice breaks none, else 1."""
    order = sorted(pool, key=lambda node: (ours.get(node, 0) == 0, canonical(pool[node][0])[:3]))
    spots = [
        _Spot(len(pool[node]), ours.get(node, 0) == 0, at, node, len(pool[node]) + ours.get(node, 0) >= size)
        for at, node in enumerate(order)
        for size in [fleet.node_size(pool[node][0])]
    ]
    # A node on which the grant is already should be made whole, but taking it in part breaks nothing.
    for entire in ([spot for spot in spots if spot.entire], [spot for spot in spots if spot.entire and spot.fresh]):
        chosen, broken = _nodes(spots, entire, gpus)
        if not broken:
            break
    return [unit for node, count in chosen.items() for unit in sorted(pool[node], key=canonical)[:count]], broken


@dataclass(frozen=True, slots=True, order=True)
class _Spot:
    """A node's part of the pool; `entire` if that and what the grant has there is the whole node."""

    gpus: int
    fresh: bool
    at: int
    node: str
    entire: bool


def _nodes(spots: list[_Spot], entire: list[_Spot], gpus: int) -> tuple[dict[str, int], int]:
    """Node -> GPUs from it, and how many of the entire ones that breaks up: 0 if it can be, else 1.

    Taking the largest sum of entire nodes leaves the least to find in fragments. If even those are too few, what is
    left is smaller than every entire node that remains (it would have been in the sum), so one of them holds it all.
    """
    best = fill(((spot.gpus, int(spot.fresh), 1) for spot in entire), gpus)
    left, chosen = dict(best.lots), {}
    for spot in entire:
        if left.get(spot.gpus):
            left[spot.gpus] -= 1
            chosen[spot.node] = spot.gpus
    missing = gpus - best.gpus
    fragments = sorted(set(spots) - set(entire))
    if missing > sum(spot.gpus for spot in fragments):
        spare = min(spot for spot in entire if spot.node not in chosen)
        return chosen | {spare.node: missing}, 1
    return chosen | dict(_best_fit(fragments, missing)), 0


def _best_fit(fragments: list[_Spot], gpus: int) -> Iterable[tuple[str, int]]:
    """Node -> GPUs from it: the smallest fragment that holds all that is left, else the largest and on; ascending."""
    left = list(fragments)
    while gpus > 0:
        at = bisect_left(left, gpus, key=lambda spot: spot.gpus)
        spot = left.pop(min(at, len(left) - 1))
        yield spot.node, min(spot.gpus, gpus)
        gpus -= min(spot.gpus, gpus)
