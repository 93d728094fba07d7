"""What may be taken for one need: every unit judged once, then bundled into lots of the need's shape."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from .snapshot import Fleet, Island, Need, Slab, Source, Unit
from .why import Because, Skipped

# Cost of a lot: five counts in one whole number, the first weighs most, so that costs add and compare like tuples.
# 24 bits each: no fleet has 16 million GPUs.
BITS = 24
FRESH = 1  # a node on which the grant has nothing yet
RUNNING = FRESH << BITS  # GPUs with processes, or nobody knows, of somebody else
MOVED = RUNNING << BITS  # GPUs that change holder at all
ENDED = MOVED << BITS
WINDING = ENDED << BITS
LATER = frozenset({Skipped.HELD, Skipped.NOT_YET_RELEASED})  # refusals that a promised date may end
TIERS = MOVED  # from here up: which kind of GPU; below: how it disturbs. The number of donors is judged in between.


@dataclass(frozen=True, slots=True)
class Lot:
    """Units that are taken together or not at all."""

    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Offer:
    """Lots on one island that are the same for the choice: `size` GPUs each at `cost`, disturbing `donors`."""

    size: int
    cost: int
    donors: frozenset[str]
    where: Island
    lots: tuple[Lot, ...]


@dataclass(frozen=True, slots=True)
class Stock:
    """All offers for one need, in an order that does not depend on the snapshot's; what is no offer is in `skipped`.

    `own`: node -> GPUs that the grant has there. `base`: the islands on which it is. `slabs`: all of the model; `good`
    ones may be taken if their shape fits, `promised` ones from their date on.
    """

    offers: tuple[Offer, ...]
    skipped: Mapping[str, int]
    own: Mapping[str, int]
    base: frozenset[Island]
    slabs: tuple[Slab, ...]
    good: tuple[Slab, ...]
    promised: tuple[tuple[Slab, datetime], ...]


def usable_from(fleet: Fleet, need: Need) -> datetime:
    """What is promised for this instant or before may be taken."""
    return max(need.starts_at, fleet.snapshot.taken_at)


def because(unit: Unit, need: Need) -> Because:
    """Why a unit that may be taken is taken."""
    if unit.source is Source.ENDED:
        return Because.OWN_ENDED if unit.holder == need.project else Because.GRANT_ENDED
    return Because.WINDING_DOWN if unit.source is Source.WINDING_DOWN else Because.FREE


def donor(unit: Unit, need: Need) -> str:
    """Whom it disturbs to take the unit, "" for nobody."""
    return "" if unit.source is Source.FREE or unit.holder == need.project else unit.holder


def is_running(unit: Unit, need: Need) -> bool:
    """Whether taking it may stop somebody's work; unknown counts as work."""
    return unit.running != 0 and donor(unit, need) != ""


def refusal(unit: Unit, need: Need, usable: datetime) -> str:
    """The code of the reason why the unit may not be taken for the need, "" if it may."""
    source = unit.source
    if source is Source.MOVING:
        return Skipped.MOVING
    if source is Source.UNUSABLE:
        return unit.detail or Skipped.UNUSABLE
    if unit.grant_id == need.grant_id and source is not Source.FREE:
        return Skipped.ALREADY_YOURS
    if not need.labels <= unit.labels:
        return Skipped.OTHER_LABELS
    if source is Source.HELD or (source is Source.WINDING_DOWN and unit.holder == need.project):
        return Skipped.HELD
    if source is Source.WINDING_DOWN and (unit.releases_at is None or unit.releases_at > usable):
        return Skipped.NOT_YET_RELEASED
    return ""


def stock(fleet: Fleet, need: Need) -> Stock:
    """What may be taken for the need, in lots of its shape: single units, or whole nodes."""
    slabs = [slab for node in fleet.by_model.get(need.model, {}).values() for slab in node]
    usable = usable_from(fleet, need)
    skipped: Counter[str] = Counter({Skipped.OTHER_MODEL: len(fleet.snapshot.units) - sum(map(len, slabs))})
    good, yours, promised = [], [], []
    for slab in slabs:
        reason = refusal(slab[0], need, usable)
        if not reason:
            good.append(slab)
            continue
        skipped[reason] += len(slab)
        releases_at = slab[0].releases_at
        if reason == Skipped.ALREADY_YOURS:
            yours.append(slab)
        elif reason in LATER and releases_at is not None and releases_at > fleet.snapshot.taken_at:
            promised.append((slab, releases_at))
    own = _own(need, yours, slabs)
    bundles = _whole_nodes(fleet, good, own) if need.whole_nodes else [(unit,) for slab in good for unit in slab]
    skipped[Skipped.NODE_FRAGMENT] += sum(map(len, good)) - sum(map(len, bundles))
    base = frozenset(place.where for place in need.already_on) | {slab[0].where for slab in yours}
    return Stock(_offers(bundles, need, own), +skipped, own, base, tuple(slabs), tuple(good), tuple(promised))


def _own(need: Need, yours: Iterable[Slab], slabs: Iterable[Slab]) -> dict[str, int]:
    """What the snapshot and the need say of the grant's GPUs.

    A place may count those that are still on their way, and those that are out: these make no node whole.
    """
    own = Counter(unit.node for slab in yours for unit in slab)
    out = Counter(unit.node for slab in slabs if slab[0].grant_id == need.grant_id and slab[0].is_out for unit in slab)
    for place in need.already_on:
        own[place.node] = max(own[place.node], place.gpus - out[place.node])
    return dict(own)


def _whole_nodes(fleet: Fleet, good: Iterable[Slab], own: Mapping[str, int]) -> list[tuple[Unit, ...]]:
    """The good units of every node that they, with what the grant has there, make whole."""
    nodes: dict[str, list[Unit]] = defaultdict(list)
    for slab in good:
        nodes[slab[0].node].extend(slab)
    return [tuple(units) for node, units in nodes.items() if len(units) + own.get(node, 0) >= fleet.node_size(units[0])]


def _offers(bundles: Iterable[tuple[Unit, ...]], need: Need, own: Mapping[str, int]) -> tuple[Offer, ...]:
    groups: dict[tuple[int, int, frozenset[str], Island], list[Lot]] = defaultdict(list)
    prices: dict[tuple[Source, str, bool], tuple[int, str]] = {}
    donors: dict[str, frozenset[str]] = {"": frozenset()}
    for bundle in bundles:
        cost, disturbed = 0, ""
        several: set[str] = set()
        for unit in bundle:
            facts = (unit.source, unit.holder, unit.running != 0)
            if facts not in prices:
                prices[facts] = _price(unit, need)
            price, disturbed = prices[facts]
            cost += price
            several.add(disturbed)
        several.discard("")
        if need.whole_nodes:
            cost += FRESH if bundle[0].node not in own else 0
            key = frozenset(several)
        else:
            key = donors.setdefault(disturbed, frozenset(several))
        groups[len(bundle), cost, key, bundle[0].where].append(Lot(bundle))
    return tuple(
        Offer(size, cost, names, where, tuple(lots))
        for (size, cost, names, where), lots in sorted(
            groups.items(), key=lambda item: (*item[0][:2], sorted(item[0][2]), item[0][3])
        )
    )


def _price(unit: Unit, need: Need) -> tuple[int, str]:
    """The cost of one unit, and whom it disturbs."""
    reason = because(unit, need)
    cost = {
        Because.OWN_ENDED: 0,
        Because.FREE: MOVED,
        Because.GRANT_ENDED: MOVED + ENDED,
        Because.WINDING_DOWN: MOVED + WINDING,
    }
    return cost[reason] + RUNNING * is_running(unit, need), donor(unit, need)
