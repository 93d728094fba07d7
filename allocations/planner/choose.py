"""Which offers a plan draws on: the most GPUs, then the kindest ones, the fewest donors, the fewest new islands."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .fewest import Looks, Question, fewest
from .fill import Fill, fill
from .offers import ENDED, TIERS, WINDING, Offer
from .snapshot import Island, Source


@dataclass(frozen=True, slots=True)
class Draw:
    """What is taken from: `offers` of the chosen donors on the chosen islands, `filled` up to a number."""

    offers: tuple[Offer, ...]
    filled: Fill
    donors: frozenset[str]
    fewest_donors: bool

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """Size, kinds, number of donors, disturbance (see `offers`): the smaller the better."""
        return (-self.filled.gpus, self.filled.cost // TIERS, len(self.donors), self.filled.cost % TIERS)


def draws(offers: Sequence[Offer], gpus: int, base: frozenset[Island], one_island: bool) -> list[Draw]:
    """The draws of the best rank, each on as few new islands as can be; one for each single island that would do.

    With `one_island` nothing beside one island: where the grant is, if it is somewhere, and none if it is on several.
    """
    looks = Looks()
    islands: dict[Island, list[Offer]] = defaultdict(list)
    for offer in offers:
        islands[offer.where].append(offer)
    if one_island:
        allowed = (base & islands.keys() if len(base) == 1 else frozenset()) if base else islands.keys()
        return _best([islands[where] for where in sorted(allowed)], gpus, looks)
    if not offers:
        return []
    overall = draw(offers, gpus, looks)
    certain = (base | _certain_islands(overall)) & islands.keys()
    here = [offer for where in sorted(certain) for offer in islands[where]]
    beside = [[*here, *islands[where]] for where in sorted(islands.keys() - certain)]
    return (
        _best([here], gpus, looks, overall)
        or _best(beside, gpus, looks, overall)
        or [_on_few_islands(overall, base, gpus, looks)]
    )


def draw(offers: Sequence[Offer], gpus: int, looks: Looks) -> Draw:
    """The best draw from these offers: size and kinds are exact, then the fewest donors that reach them."""
    best = _filled(offers, gpus)
    runs = Counter[tuple[int, int, frozenset[str]]]()
    for offer in offers:
        runs[offer.size, offer.cost, offer.donors] += len(offer.lots)

    def disturbance(donors: frozenset[str]) -> int | None:
        part = fill(((size, cost, count) for (size, cost, names), count in runs.items() if names <= donors), gpus)
        reached = (part.gpus, part.cost // TIERS) == (best.gpus, best.cost // TIERS)
        return part.cost % TIERS if reached else None

    weight, wanted = _donor_weights(offers, best)
    names = sorted(frozenset[str]().union(*(offer.donors for offer in offers)), key=lambda name: (-weight[name], name))
    place = {name: index for index, name in enumerate(names)}
    first = taking(offers, best, lambda offer: max((place[name] for name in offer.donors), default=-1))
    start = frozenset[str]().union(*(offer.donors for offer, _ in first))
    donors, proven = fewest(Question(names, start, disturbance, weight, wanted, len(runs)), looks)
    chosen = tuple(offer for offer in offers if offer.donors <= donors)
    return Draw(chosen, _filled(chosen, gpus), donors, proven)


def taking(offers: Iterable[Offer], filled: Fill, order: Callable[[Offer], Any]) -> list[tuple[Offer, int]]:
    """Offer by offer how many lots make up the fill: the cheapest of each size, equal ones in that order."""
    left, taken = dict(filled.lots), []
    for offer in sorted(offers, key=lambda offer: (offer.cost, order(offer))):
        lots = min(left.get(offer.size, 0), len(offer.lots))
        if lots:
            left[offer.size] -= lots
            taken.append((offer, lots))
    return taken


def _filled(offers: Iterable[Offer], gpus: int) -> Fill:
    return fill(((offer.size, offer.cost, len(offer.lots)) for offer in offers), gpus)


def _best(groups: Iterable[Sequence[Offer]], gpus: int, looks: Looks, like: Draw | None = None) -> list[Draw]:
    """The best draws of the groups, each on its own; with `like` those that are no worse than it."""
    first = [((-part.gpus, part.cost // TIERS), group) for group in groups for part in [_filled(group, gpus)]]
    bar = like.rank[:2] if like else min((rank for rank, _ in first), default=(0, 0))
    found = [draw(group, gpus, looks) for rank, group in first if rank == bar]
    top = like.rank if like else min((one.rank for one in found), default=None)
    return [one for one in found if top is not None and one.rank <= top]


def _donor_weights(offers: Iterable[Offer], best: Fill) -> tuple[Counter[str], int]:
    """Donor -> GPUs of the least kind that the plan must use; and how many of them all donors must give together."""
    winding, ended = best.cost // WINDING, best.cost // ENDED % (WINDING // ENDED)
    kind, wanted = (Source.WINDING_DOWN, winding) if winding else (Source.ENDED, ended)
    weight: Counter[str] = Counter()
    for offer in offers:
        if offer.cost < ENDED:
            continue
        for unit in (unit for lot in offer.lots for unit in lot.units if unit.source is kind):
            if unit.holder in offer.donors:
                weight[unit.holder] += 1
            else:
                wanted -= 1
    return weight, wanted


def _on_few_islands(overall: Draw, base: frozenset[Island], gpus: int, looks: Looks) -> Draw:
    """The same draw on as few islands beside the grant's own as can be found."""
    runs: dict[Island, list[Offer]] = defaultdict(list)
    for offer in overall.offers:
        runs[offer.where].append(offer)

    def same(islands: frozenset[Island]) -> int | None:
        part = _filled((offer for where in islands | base for offer in runs.get(where, ())), gpus)
        return 0 if (part.gpus, part.cost) == (overall.filled.gpus, overall.filled.cost) else None

    weight, wanted = _island_weights(overall, base)
    labels = sorted(runs.keys() - base, key=lambda where: (-weight[where], where))
    place = {where: index for index, where in enumerate(labels)}
    first = taking(overall.offers, overall.filled, lambda offer: place.get(offer.where, -1))
    start = frozenset(offer.where for offer, _ in first) - base
    few, _ = fewest(Question(labels, start, same, weight, wanted, len(overall.offers)), looks)
    offers = tuple(offer for offer in overall.offers if offer.where in few or offer.where in base)
    return Draw(offers, _filled(offers, gpus), overall.donors, overall.fewest_donors)


def _certain_islands(overall: Draw) -> set[Island]:
    """Where every plan of this rank takes something: lots that are cheaper than the dearest, if all have one size."""
    last = _edges(overall)
    return {offer.where for offer in overall.offers if len(last) == 1 and offer.cost < last.get(offer.size, 0)}


def _edges(overall: Draw) -> dict[int, int]:
    """Size -> cost of the dearest lot that is taken."""
    return {offer.size: offer.cost for offer, _ in taking(overall.offers, overall.filled, lambda _: 0)}


def _island_weights(overall: Draw, base: frozenset[Island]) -> tuple[Counter[Island], int]:
    """Island -> GPUs that compete for the last places in the plan; and how many of them the new ones must give.

    With lots of several sizes another mix may do as well, so there nothing is known to be wanted.
    """
    last = _edges(overall)
    weight: Counter[Island] = Counter()
    wanted = overall.filled.gpus
    for offer in overall.offers:
        edge = last.get(offer.size, -1)
        if offer.cost < edge or (offer.cost == edge and offer.where in base):
            wanted -= offer.size * len(offer.lots)
        elif offer.cost == edge:
            weight[offer.where] += offer.size * len(offer.lots)
    return weight, wanted if len({offer.size for offer in overall.offers}) == 1 else 0
