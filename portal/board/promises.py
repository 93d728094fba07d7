"""The running grants beside the pitches: what the budget would be if one of them ended now. Nothing is decided here."""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from allocations.models import Grant
from portal.board.budget import Budget

SHOWN_PROMISES = 40  # the largest; the grants page has all of them


@dataclass(frozen=True)
class Promise:
    """A grant as the desk shows it: its GPUs would come back in the stretches `first` to before `last`."""

    grant: Grant
    key: str
    first: int
    last: int
    gpus: int
    is_ended: bool


def without(budget: Budget, grants: Sequence[Grant], ended: Collection[str]) -> tuple[Budget, list[Promise]]:
    """The budget as if the grants with these keys ended now, and the largest grants as the desk shows them."""
    room, promised = list(budget.room), list(budget.promised)
    promises = []
    for grant in grants[:SHOWN_PROMISES]:
        key = str(grant.public_id)
        first, last = bisect_left(budget.edges, grant.starts_at), bisect_left(budget.edges, grant.ends_at)
        promises.append(Promise(grant, key, first, last, grant.gpus, key in ended))
        if key in ended:
            for stretch in range(first, last):
                room[stretch] += grant.gpus
                promised[stretch] -= grant.gpus
    return replace(budget, room=room, promised=promised), promises
