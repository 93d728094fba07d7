"""Whether a promise fits at every instant of its time, by how much it does not, and when it would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from .timeline import Booking, Step, Timeline, instant


class Kind(StrEnum):
    """Which of the two limits an ask breaks."""

    SHARE = "share"
    CAPACITY = "capacity"


@dataclass(frozen=True, slots=True)
class Shortage:
    """The worst stretch [at, until) of an ask that does not fit.

    There `promised_gpus` + `asked_gpus` is `short_gpus` above `limit_gpus` (the division's share, or all that is
    healthy). `free_gpus` is the largest ask that would fit over the whole time, by both limits.
    """

    kind: Kind
    at: datetime
    until: datetime | None
    limit_gpus: int
    promised_gpus: int
    asked_gpus: int
    short_gpus: int
    free_gpus: int


def shortage(
    ask: Booking, *, share: Timeline, healthy: Timeline, promised_division: Timeline, promised_model: Timeline
) -> Shortage | None:
    """The worst stretch of the ask, None if it fits at every instant.

    The promises leave the ask itself out. Worst is the most GPUs short, then the share's before the capacity's, then
    the earliest. Raises ValueError for an ask that covers no instant.
    """
    limits = ((Kind.SHARE, share, promised_division), (Kind.CAPACITY, healthy, promised_model))
    worst = [(kind, limit, promised, _lowest(limit - promised, ask)) for kind, limit, promised in limits]
    kind, limit, promised, step = min(worst, key=lambda found: found[3].gpus)
    if step.gpus >= ask.gpus:
        return None
    at = step.starts_at or ask.starts_at
    return Shortage(
        kind=kind,
        at=at,
        until=step.ends_at,
        limit_gpus=limit.at(at),
        promised_gpus=promised.at(at),
        asked_gpus=ask.gpus,
        short_gpus=ask.gpus - step.gpus,
        free_gpus=max(0, step.gpus),
    )


def free(*, share: Timeline, healthy: Timeline, promised_division: Timeline, promised_model: Timeline) -> Timeline:
    """What the division could still promise at each instant by both limits; below 0 is debt."""
    return (share - promised_division).combine(healthy - promised_model, min)


def debt(*, share: Timeline, promised: Timeline) -> Timeline:
    """How far the promises stand above the share at each instant, 0 where they do not."""
    return (promised - share).clamp(low=0)


def clear_from(over: Timeline, start: datetime) -> datetime | None:
    """From when on nothing stands over for good, `start` where nothing does; None where it never ends."""
    steps = over.steps(start, None)
    if steps[-1].gpus:
        return None
    return next((step.ends_at for step in reversed(steps) if step.gpus), instant(start))


def earliest_start(
    ask: Booking,
    *,
    share: Timeline,
    healthy: Timeline,
    promised_division: Timeline,
    promised_model: Timeline,
    latest: datetime | None = None,
) -> datetime | None:
    """The first instant from `ask.starts_at` on at which the ask would fit for its whole length; None if there is none.

    `latest` is the last start that would do. Raises ValueError for an ask that covers no instant.
    """
    room = free(share=share, healthy=healthy, promised_division=promised_division, promised_model=promised_model)
    length = None if ask.ends_at is None else ask.ends_at - ask.starts_at
    if ask.is_empty:
        raise ValueError("an ask that covers no instant")
    for begins, ends in _stretches(room.steps(ask.starts_at, None), ask.gpus):
        if latest is not None and begins > instant(latest):
            return None
        if ends is None or (length is not None and ends - begins >= length):
            return begins
    return None


def _lowest(room: Timeline, ask: Booking) -> Step:
    return min(room.steps(ask.starts_at, ask.ends_at), key=lambda step: step.gpus)


def _stretches(steps: list[Step], gpus: int) -> Iterator[tuple[datetime, datetime | None]]:
    """The longest stretches in which at least so many are free, in order."""
    begins: datetime | None = None
    for step in steps:
        if step.gpus >= gpus:
            begins = begins or step.starts_at
        elif begins is not None:
            yield begins, step.starts_at
            begins = None
    if begins is not None:
        yield begins, None
