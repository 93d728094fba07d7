"""Small fleets for the planner's tests, and an oracle that tries every set of GPUs by rules of its own."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations

from hypothesis import strategies as st

from allocations.planner import Need, Place, Proposal, Snapshot, Source, Unit

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)
SOON, LATER = NOW + timedelta(days=3), NOW + timedelta(days=30)
OUT = {"cordoned", "lost"}


def unit(gpu_id: int, node: str, source: Source = Source.FREE, holder: str = "", **facts) -> Unit:
    """One GPU of a two-GPU H100 node on island i1, as a test needs it."""
    told = {
        "uuid": f"GPU-{gpu_id:04d}",
        "node_gpus": 2,
        "island": "i1",
        "site": "hall",
        "model": "H100",
        "labels": frozenset(),
        "grant_id": None,
        "running": 0,
        "seen_age_s": 20.0,
        "releases_at": NOW if source is Source.WINDING_DOWN else None,
        "detail": "stale" if source is Source.UNUSABLE else "",
    }
    return Unit(gpu_id=gpu_id, node=node, source=source, holder=holder, **(told | facts))


def need(gpus: int, **facts) -> Need:
    """A need of project "asking", grant 1, for H100s from now on."""
    told = {
        "grant_id": 1,
        "project": "asking",
        "model": "H100",
        "whole_nodes": False,
        "one_island": False,
        "labels": frozenset(),
        "starts_at": NOW,
    }
    return Need(gpus=gpus, **(told | facts))


def snapshot(units: Iterable[Unit]) -> Snapshot:
    """Those units, now."""
    return Snapshot(tuple(units), generation=7, survey_id=3, taken_at=NOW)


@st.composite
def fleets(draw, most_nodes: int = 5, most_gpus: int = 3) -> Snapshot:
    """Nodes of one to three GPUs on up to three islands; a node is often of one piece, as real ones are."""
    units: list[Unit] = []
    for number in range(draw(st.integers(1, most_nodes))):
        size = draw(st.integers(1, most_gpus))
        node = {
            "node": f"n{number}",
            "island": draw(st.sampled_from(["i1", "i1", "i2", ""])),
            "site": draw(st.sampled_from(["hall", "hall", "annex"])),
            "model": draw(st.sampled_from(["H100"] * 5 + ["A100"])),
            "labels": frozenset(draw(st.sampled_from([["nvme=yes"], ["nvme=yes", "rack=1"], []]))),
        }
        kinds = draw(st.lists(_kinds, min_size=1, max_size=size))
        out = 0
        for slot in range(size):
            facts = dict(kinds[slot % len(kinds)])
            out += facts.get("detail") in OUT
            units.append(unit(len(units) + 1, **(node | facts)))
        for index in range(len(units) - size, len(units)):
            units[index] = replace(units[index], node_gpus=size - out)
    return snapshot(draw(st.permutations(units)))


_donor = st.sampled_from(["ada", "bee", "cee"])
_running = st.sampled_from([0, 0, 2, None])
_kinds = st.one_of(
    st.just({"source": Source.FREE}),
    st.just({"source": Source.FREE}),
    st.fixed_dictionaries({"source": st.just(Source.ENDED), "holder": _donor, "running": _running}),
    st.fixed_dictionaries(
        {
            "source": st.just(Source.WINDING_DOWN),
            "holder": _donor,
            "running": _running,
            "releases_at": st.sampled_from([NOW, SOON, LATER, None]),
        }
    ),
    st.just({"source": Source.ENDED, "holder": "asking", "grant_id": 9}),
    st.just({"source": Source.HELD, "holder": "asking", "grant_id": 1}),
    st.fixed_dictionaries(
        {"source": st.just(Source.HELD), "holder": _donor, "releases_at": st.sampled_from([None, SOON, LATER])}
    ),
    st.just({"source": Source.MOVING, "holder": "ada"}),
    st.fixed_dictionaries(
        {"source": st.just(Source.UNUSABLE), "detail": st.sampled_from(["stale", "lost", "protected"])}
    ),
)

needs = st.builds(
    need,
    st.integers(1, 9),
    whole_nodes=st.booleans(),
    one_island=st.booleans(),
    labels=st.sampled_from([frozenset(), frozenset(), frozenset({"nvme=yes"})]),
    starts_at=st.sampled_from([NOW - timedelta(days=1), NOW, SOON + timedelta(days=1)]),
)


def island(where: Unit | Place) -> tuple[str, ...]:
    """Links that nobody declared connect nothing beyond the node."""
    return (where.site, where.island) if where.island else (where.site, "", where.node)


def may_take(one: Unit, asked: Need, at: datetime = NOW) -> bool:
    """The rule of the brief, written a second time."""
    if one.model != asked.model or not asked.labels <= one.labels:
        return False
    if one.source in (Source.FREE, Source.ENDED):
        return not (one.source is Source.ENDED and one.grant_id == asked.grant_id)
    promised = one.releases_at is not None and one.releases_at <= max(at, asked.starts_at)
    return one.source is Source.WINDING_DOWN and promised and one.holder != asked.project


class Oracle:
    """What is right for one need in one tiny fleet, found by looking at every set of GPUs."""

    def __init__(self, fleet: Snapshot, asked: Need) -> None:
        self.asked = asked
        self.own = [u for u in fleet.units if u.grant_id == asked.grant_id and u.source is Source.HELD]
        self.own = [u for u in self.own if u.model == asked.model]
        self.candidates = [u for u in fleet.units if may_take(u, asked)]
        self.nodes: dict[str, list[Unit]] = defaultdict(list)
        for one in fleet.units:
            if not (one.source is Source.UNUSABLE and one.detail in OUT):
                self.nodes[one.node].append(one)
        self.base = {island(u) for u in self.own} | {island(place) for place in asked.already_on}

    def obeys(self, units: Iterable[Unit]) -> bool:
        """Whether the shape is what the need requires."""
        units = list(units)
        on = Counter(u.node for u in units) + Counter(u.node for u in self.own if u.node in {x.node for x in units})
        if self.asked.whole_nodes and any(count != len(self.nodes[node]) for node, count in on.items()):
            return False
        return not self.asked.one_island or not units or len({island(u) for u in units} | self.base) == 1

    def rank(self, units: Iterable[Unit]) -> tuple[int, ...]:
        """Size, promised ones, ended ones, moves, donors, running ones: the smaller the better, in this order."""
        units = list(units)
        foreign = [u for u in units if u.source is not Source.FREE and u.holder != self.asked.project]
        return (
            -len(units),
            sum(u.source is Source.WINDING_DOWN for u in foreign),
            sum(u.source is Source.ENDED for u in foreign),
            sum(u.source is Source.FREE or u in foreign for u in units),
            len({u.holder for u in foreign}),
            sum(u.running != 0 for u in foreign),
        )

    def shape(self, units: Iterable[Unit]) -> tuple[int, int]:
        """New islands, and nodes that were all free and are taken in part."""
        units = list(units)
        on = Counter(u.node for u in units)
        free = [node for node in on if all(u.source is Source.FREE for u in self.nodes[node])]
        return len({island(u) for u in units} - self.base), sum(on[node] < len(self.nodes[node]) for node in free)

    def best(self) -> tuple[tuple[int, ...], tuple[int, int]]:
        """The best rank of all sets, and the best shape of all sets of that rank."""
        return min(
            (self.rank(some), self.shape(some))
            for size in range(min(self.asked.gpus, len(self.candidates)) + 1)
            for some in combinations(self.candidates, size)
            if self.obeys(some)
        )

    def chosen(self, proposal: Proposal) -> list[Unit]:
        """The units of a proposal."""
        ids = {pick.gpu_id for pick in proposal.picks}
        return [u for u in self.candidates if u.gpu_id in ids]
