"""Why a need was not met in full, and what would help: less, another shape, or waiting for promised GPUs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from .fill import largest_sum
from .offers import Stock
from .snapshot import Fleet, Island, Need, Slab
from .why import Help, Helps, Short, Shortfall

AT_ONCE = datetime.min.replace(tzinfo=UTC)

Supply = Mapping[tuple[datetime, int, Island], int]
"""From when on, size of a lot, island -> how many such lots there are, if everybody releases as promised."""


@dataclass(frozen=True, slots=True)
class _Outlook:
    """What the need could get by date and shape."""

    need: Need
    stock: Stock
    units: Supply
    nodes: Supply

    def gpus(self, *, whole_nodes: bool, one_island: bool, at: datetime = AT_ONCE) -> int:
        """The most that could be had then in that shape, up to what is missing."""
        islands: dict[Island, Counter[int]] = defaultdict(Counter)
        for (ready_at, size, where), lots in (self.nodes if whole_nodes else self.units).items():
            if ready_at <= at:
                islands[where][size] += lots
        base = self.stock.base
        if not one_island:
            return largest_sum(sum(islands.values(), Counter[int]()), self.need.gpus)
        allowed = [where for where in islands if not base or base == {where}]
        return max((largest_sum(islands[where], self.need.gpus) for where in allowed), default=0)

    def as_asked(self, at: datetime = AT_ONCE) -> int:
        """The most that could be had then in the shape of the need."""
        return self.gpus(whole_nodes=self.need.whole_nodes, one_island=self.need.one_island, at=at)


def shortfall(fleet: Fleet, need: Need, stock: Stock, found_gpus: int) -> Shortfall | None:
    """Why `found_gpus` are not all that is missing, None if they are."""
    if found_gpus >= need.gpus:
        return None
    ready = [*((slab, AT_ONCE) for slab in stock.good), *stock.promised]
    outlook = _Outlook(need, stock, _loose(ready), _nodes(fleet, ready, stock) if need.whole_nodes else {})
    sizes = _node_sizes(fleet, need, stock) if need.whole_nodes else Counter[int]()
    lower = largest_sum(sizes, need.gpus)
    everything = sum(size * count for size, count in sizes.items())
    code = _code(outlook, uneven=lower < need.gpus < everything)
    helps = (*_other_shapes(outlook, found_gpus), *_waiting(outlook, found_gpus))
    if code is not Short.UNEVEN_SIZE:
        return Shortfall(code, need.gpus - found_gpus, helps)
    # What a sum leaves out is a sum, too: the smallest above the need leaves out the largest below the rest.
    higher = everything - largest_sum(sizes, everything - need.gpus - 1)
    return Shortfall(code, need.gpus - found_gpus, helps, tuple(sorted(sizes)), lower, higher)


def _code(outlook: _Outlook, *, uneven: bool) -> Short:
    need = outlook.need
    if need.one_island and len(outlook.stock.base) > 1:
        return Short.ALREADY_SPREAD
    if outlook.gpus(whole_nodes=False, one_island=False) < need.gpus:
        return Short.NOT_ENOUGH
    if uneven:
        return Short.UNEVEN_SIZE
    any_nodes = outlook.gpus(whole_nodes=False, one_island=need.one_island) >= need.gpus
    any_islands = outlook.gpus(whole_nodes=need.whole_nodes, one_island=False) >= need.gpus
    if any_nodes == any_islands:
        return Short.NO_SUCH_SHAPE
    return Short.NO_WHOLE_NODES if any_nodes else Short.NO_SINGLE_ISLAND


def _other_shapes(outlook: _Outlook, found_gpus: int) -> Iterable[Help]:
    need = outlook.need
    if found_gpus:
        yield Help(Helps.ASK_FOR, found_gpus)
    any_nodes = outlook.gpus(whole_nodes=False, one_island=need.one_island)
    if any_nodes > found_gpus:
        yield Help(Helps.WITHOUT_WHOLE_NODES, any_nodes)
    any_islands = outlook.gpus(whole_nodes=need.whole_nodes, one_island=False)
    if any_islands > found_gpus:
        yield Help(Helps.WITHOUT_ONE_ISLAND, any_islands)


def _waiting(outlook: _Outlook, found_gpus: int) -> Iterable[Help]:
    supply = outlook.nodes if outlook.need.whole_nodes else outlook.units
    dates = sorted({ready_at for ready_at, _, _ in supply} - {AT_ONCE})
    full_at = _first(dates, lambda at: outlook.as_asked(at) >= outlook.need.gpus)
    more_at = _first(dates, lambda at: outlook.as_asked(at) > found_gpus)
    if full_at is not None:
        yield Help(Helps.WAIT, outlook.need.gpus, full_at)
    elif more_at is not None:
        yield Help(Helps.FIRST_RELEASE, outlook.as_asked(more_at), more_at)


def _first(dates: list[datetime], holds: Callable[[datetime], bool]) -> datetime | None:
    """The first date on which it holds; once it holds, it holds from then on."""
    low, high = 0, len(dates)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(dates[middle]) else (middle + 1, high)
    return dates[low] if low < len(dates) else None


def _loose(ready: Iterable[tuple[Slab, datetime]]) -> Supply:
    supply: Counter[tuple[datetime, int, Island]] = Counter()
    for slab, at in ready:
        supply[at, 1, slab[0].where] += len(slab)
    return supply


def _nodes(fleet: Fleet, ready: Iterable[tuple[Slab, datetime]], stock: Stock) -> Supply:
    """Whole nodes: each is ready with the last of its units."""
    nodes: dict[str, list[tuple[Slab, datetime]]] = defaultdict(list)
    for slab, at in ready:
        nodes[slab[0].node].append((slab, at))
    supply: Counter[tuple[datetime, int, Island]] = Counter()
    for node, there in nodes.items():
        gpus, one = sum(len(slab) for slab, _ in there), there[0][0][0]
        if gpus + stock.own.get(node, 0) >= fleet.node_size(one):
            supply[max(at for _, at in there), gpus, one.where] += 1
    return supply


def _node_sizes(fleet: Fleet, need: Need, stock: Stock) -> Counter[int]:
    """Size -> how many nodes of the model there are, whoever has them, less what the grant has on them."""
    there = (slab[0] for slab in stock.slabs if need.labels <= slab[0].labels)
    nodes = {unit.node: unit for unit in there if not unit.is_out}
    sizes = Counter(fleet.node_size(unit) - stock.own.get(node, 0) for node, unit in nodes.items())
    return Counter({size: count for size, count in sizes.items() if size > 0})
