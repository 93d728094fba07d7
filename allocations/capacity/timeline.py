"""A number of GPUs over time: constant between dated steps, for ever in both directions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, pairwise
from math import inf
from operator import add, itemgetter, sub


def instant(at: datetime) -> datetime:
    """The same instant in UTC.

    Two datetimes of one zone compare by the clock on the wall, which is wrong in the hour that a clock change repeats.
    Raises ValueError for a naive datetime.
    """
    if at.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone")
    return at.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class Booking:
    """`gpus` whole GPUs in the half-open [starts_at, ends_at); `ends_at` None is for ever.

    One that ends before or as it starts (a promise cancelled before its first day) covers no instant.
    Raises ValueError for naive datetimes and negative counts.
    """

    starts_at: datetime
    ends_at: datetime | None
    gpus: int

    def __post_init__(self) -> None:
        if self.gpus < 0:
            raise ValueError(f"a booking of {self.gpus} GPUs")
        object.__setattr__(self, "starts_at", instant(self.starts_at))
        if self.ends_at is not None:
            object.__setattr__(self, "ends_at", instant(self.ends_at))

    @property
    def is_empty(self) -> bool:
        """Whether it covers no instant."""
        return self.ends_at is not None and self.ends_at <= self.starts_at


@dataclass(frozen=True, slots=True)
class Step:
    """`gpus` in the half-open [starts_at, ends_at); None is the beginning or the end of time."""

    starts_at: datetime | None
    ends_at: datetime | None
    gpus: int

    @property
    def seconds(self) -> float:
        """How long it lasts; infinite where it has no beginning or no end."""
        if self.starts_at is None or self.ends_at is None:
            return inf
        return (self.ends_at - self.starts_at).total_seconds()


@dataclass(frozen=True, slots=True)
class Timeline:
    """`base` from the beginning of time, then each change's number from its instant on.

    Changes ascend and each one changes the number, so that equal timelines are equal objects. Build with `constant`
    or `of`.
    """

    base: int
    changes: tuple[tuple[datetime, int], ...] = ()

    @classmethod
    def constant(cls, gpus: int) -> Timeline:
        """The same number at every instant."""
        return cls(gpus)

    @classmethod
    def of(cls, base: int, bookings: Iterable[Booking]) -> Timeline:
        """`base` plus everything that is booked, at every instant; O(n log n)."""
        deltas: dict[datetime, int] = defaultdict(int)
        for booking in bookings:
            if booking.is_empty:
                continue
            deltas[booking.starts_at] += booking.gpus
            if booking.ends_at is not None:
                deltas[booking.ends_at] -= booking.gpus
        running, points = base, []
        for at in sorted(deltas):
            running += deltas[at]
            points.append((at, running))
        return cls.through(base, points)

    @classmethod
    def through(cls, base: int, points: Iterable[tuple[datetime, int]]) -> Timeline:
        """`base`, then each point's number from its instant on; points ascend, idle ones are dropped."""
        changes, last = [], base
        for at, gpus in points:
            if gpus != last:
                changes.append((at, gpus))
                last = gpus
        return cls(base, tuple(changes))

    def at(self, when: datetime) -> int:
        """The number at that instant."""
        return self._value(bisect_right(self.changes, instant(when), key=itemgetter(0)))

    def minimum(self, start: datetime, end: datetime | None) -> int:
        """The smallest number in [start, end). Raises ValueError when that covers no instant."""
        first, last = self._between(start, end)
        return min([self._value(first), *(gpus for _at, gpus in self.changes[first:last])])

    def steps(self, start: datetime, end: datetime | None) -> list[Step]:
        """The constant pieces of [start, end), in order, cut at both ends.

        Raises ValueError when that covers no instant.
        """
        start, end = instant(start), None if end is None else instant(end)
        first, last = self._between(start, end)
        edges = [start, *(at for at, _ in self.changes[first:last])]
        return [
            Step(begins, ends, self._value(first + index))
            for index, (begins, ends) in enumerate(pairwise(chain(edges, [end])))
            if begins is not None
        ]

    def clamp(self, *, low: int | None = None, high: int | None = None) -> Timeline:
        """No lower than `low` and no higher than `high` at any instant."""

        def bounded(gpus: int) -> int:
            gpus = gpus if low is None else max(low, gpus)
            return gpus if high is None else min(high, gpus)

        return Timeline.through(bounded(self.base), ((at, bounded(gpus)) for at, gpus in self.changes))

    def combine(self, other: Timeline, by: Callable[[int, int], int]) -> Timeline:
        """`by(this number, the other's)` at every instant; O(n + m)."""
        return Timeline.through(by(self.base, other.base), self._merged(other, by))

    def __add__(self, other: Timeline) -> Timeline:
        return self.combine(other, add)

    def __sub__(self, other: Timeline) -> Timeline:
        return self.combine(other, sub)

    def _between(self, start: datetime, end: datetime | None) -> tuple[int, int]:
        """The run of changes after `start` and before `end`. Raises ValueError when no instant lies between them."""
        start, end = instant(start), None if end is None else instant(end)
        if end is not None and end <= start:
            raise ValueError(f"no instant lies between {start} and {end}")
        first = bisect_right(self.changes, start, key=itemgetter(0))
        return first, len(self.changes) if end is None else bisect_left(self.changes, end, first, key=itemgetter(0))

    def _value(self, index: int) -> int:
        return self.changes[index - 1][1] if index else self.base

    def _merged(self, other: Timeline, by: Callable[[int, int], int]) -> Iterator[tuple[datetime, int]]:
        mine, theirs = self.base, other.base
        ours, others = deque(self.changes), deque(other.changes)
        while ours or others:
            at = ours[0][0] if not others or (ours and ours[0][0] <= others[0][0]) else others[0][0]
            if ours and ours[0][0] == at:
                mine = ours.popleft()[1]
            if others and others[0][0] == at:
                theirs = others.popleft()[1]
            yield at, by(mine, theirs)
