"""Which waiting asks would no longer fit if another one were granted."""

from __future__ import annotations

from collections.abc import Mapping

from .timeline import Booking, Timeline


def displaced(ask: Booking, waiting: Mapping[str, Booking], *, free: Timeline) -> list[str]:
    """The keys of those that fit into `free` each for itself, and would not beside `ask`; in their order.

    Asks that cover no instant need nothing and are never displaced.
    """
    left = free - Timeline.of(0, [ask])
    return [
        key
        for key, other in waiting.items()
        if not other.is_empty
        and free.minimum(other.starts_at, other.ends_at) >= other.gpus > left.minimum(other.starts_at, other.ends_at)
    ]
