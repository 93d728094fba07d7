"""Islands for nodes of which nobody said where they stand: equal nodes, so many at a time."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

# Node.island holds 80; the number and its mark need six.
LONGEST_BASE = 74


class Kind(NamedTuple):
    """Nodes that are equal as far as islands go."""

    site: str
    model: str
    gpus: int


def group(homeless: Sequence[tuple[str, Kind]], settled: Iterable[tuple[str, Kind]], *, size: int) -> Mapping[str, str]:
    """Node name -> island for each of `homeless` (name, kind), in their order, at most `size` nodes an island.

    `settled`: (island, kind) of every node that has one. Those stay; newcomers fill up the last island of their kind
    and open further ones, so that a repeat changes nothing, and neither do rows that are appended, removed or moved.
    """
    members: dict[str, Counter[Kind]] = {}
    for island, kind in settled:
        members.setdefault(island, Counter())[kind] += 1
    last: dict[Kind, int] = {}
    found = {}
    for name, kind in homeless:
        number = last.get(kind) or max(1, _last_number(kind, members))
        while _is_closed(members.get(_name(kind, number)), kind, size):
            number += 1
        last[kind] = number
        island = _name(kind, number)
        members.setdefault(island, Counter())[kind] += 1
        found[name] = island
    return found


def _is_closed(counts: Counter[Kind] | None, kind: Kind, size: int) -> bool:
    # Somebody else's island may have the name by chance, or by the cut of a long one.
    return counts is not None and (counts[kind] >= size or set(counts) != {kind})


def _last_number(kind: Kind, members: Mapping[str, Counter[Kind]]) -> int:
    start = f"{_base(kind)} #"
    numbers = (
        island.removeprefix(start) for island, kinds in members.items() if island.startswith(start) and kind in kinds
    )
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


def _name(kind: Kind, number: int) -> str:
    return f"{_base(kind)} #{number}"


def _base(kind: Kind) -> str:
    place = f"{kind.site} " if kind.site else ""
    return f"{place}{kind.model} {kind.gpus}x"[:LONGEST_BASE]
