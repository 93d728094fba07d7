"""From a snapshot and a need to a plan: which GPUs, from whom, and why these."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from .choose import draws
from .offers import Stock, because, donor, is_running, stock
from .place import Placed, place
from .shortfall import shortfall
from .snapshot import Fleet, Need, Snapshot, Source, Unit
from .why import Because, Shape, Skipped, Taken, Why


@dataclass(frozen=True, slots=True)
class Pick:
    """One GPU of a plan. `from_holder` "" is nobody; what is promised for later must not move before `releases_at`."""

    gpu_id: int
    source: Source
    from_holder: str
    from_grant_id: int | None
    why: Because
    releases_at: datetime | None


@dataclass(frozen=True, slots=True)
class Proposal:
    """The picks for one need in canonical order; `short` GPUs are still missing after them."""

    picks: tuple[Pick, ...]
    short: int
    why: Why
    grant_id: int


def propose(snapshot: Snapshot, need: Need) -> Proposal:
    """A plan for what the need misses: never more, and all of it whenever its rules allow that.

    Whole nodes and one island are kept where the need requires them. Of all plans of that size it takes the most of
    the project's own ended GPUs, then free ones, ended ones, promised ones; then it disturbs the fewest donors, the
    fewest running GPUs; then it uses the fewest new islands and breaks up the fewest nodes. The first three are exact,
    the others as far as a counted number of looks goes. The same snapshot in another order gives the same plan.
    """
    return _propose(Fleet(snapshot), need)[0]


def propose_all(snapshot: Snapshot, needs: Iterable[Need]) -> tuple[Proposal, ...]:
    """A plan for each need, the oldest first (`starts_at`, then the grant), each from what the earlier ones left."""
    fleet = Fleet(snapshot)
    proposals = []
    for need in sorted(needs, key=lambda need: (need.starts_at, need.grant_id)):
        proposal, units = _propose(fleet, need)
        fleet.take(units)
        proposals.append(proposal)
    return tuple(proposals)


def _propose(fleet: Fleet, need: Need) -> tuple[Proposal, tuple[Unit, ...]]:
    found = stock(fleet, need)
    best = None
    if need.gpus > 0:
        choices = draws(found.offers, need.gpus, found.base, need.one_island)
        placed = [place(draw, fleet, need, found) for draw in choices if draw.filled.gpus]
        best = min(placed, key=lambda one: (one.draw.rank, one.rank), default=None)
    units = best.units if best else ()
    picks = tuple(
        Pick(unit.gpu_id, unit.source, unit.holder, unit.grant_id, because(unit, need), unit.releases_at)
        for unit in units
    )
    why = Why(
        asked_gpus=max(0, need.gpus),
        taken=_taken(units, need),
        skipped=_skipped(found, need, units),
        shape=_shape(best, found, need),
        shortfall=shortfall(fleet, need, found, len(picks)),
    )
    return Proposal(picks, max(0, need.gpus) - len(picks), why, need.grant_id), units


def _taken(units: Iterable[Unit], need: Need) -> tuple[Taken, ...]:
    groups: dict[tuple[Because, str, Source], list[Unit]] = defaultdict(list)
    for unit in units:
        groups[because(unit, need), unit.holder, unit.source].append(unit)
    order = list(Because)
    return tuple(
        Taken(
            source=source,
            holder=holder,
            code=code,
            gpus=len(given),
            running_gpus=sum(is_running(unit, need) for unit in given),
            nodes=len({unit.node for unit in given}),
            grants=tuple(sorted({unit.grant_id for unit in given if unit.grant_id is not None})),
            oldest_seen_s=max(unit.seen_age_s for unit in given),
            releases_at=max((unit.releases_at for unit in given if unit.releases_at is not None), default=None),
        )
        for (code, holder, source), given in sorted(
            groups.items(), key=lambda group: (order.index(group[0][0]), -len(group[1]), group[0][1])
        )
    )


def _skipped(found: Stock, need: Need, units: Iterable[Unit]) -> dict[str, int]:
    """Code -> GPUs left where they are; what was on offer and is not needed or does not fit included."""
    skipped = Counter(found.skipped)
    picked = {unit.gpu_id for unit in units}
    islands = {unit.where for unit in units} or (found.base if len(found.base) == 1 else frozenset())
    rest = Skipped.NOT_NEEDED if len(picked) >= need.gpus else Skipped.DOES_NOT_FIT
    for offer in found.offers:
        for lot in offer.lots:
            if lot.units[0].gpu_id not in picked:
                elsewhere = need.one_island and offer.where not in islands
                skipped[Skipped.OTHER_ISLAND if elsewhere else rest] += len(lot.units)
    return dict(sorted((+skipped).items()))


def _shape(best: Placed | None, found: Stock, need: Need) -> Shape:
    if best is None:
        return Shape(0, 0, 0, 0, 0, 0, fewest_donors=True)
    islands = {unit.where for unit in best.units}
    return Shape(
        islands=len(islands),
        new_islands=len(islands - found.base),
        nodes=best.nodes,
        broken_nodes=best.broken,
        donors=len({donor(unit, need) for unit in best.units} - {""}),
        running_gpus=sum(is_running(unit, need) for unit in best.units),
        fewest_donors=best.draw.fewest_donors,
    )
