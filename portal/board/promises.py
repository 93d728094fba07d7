"""The running grants beside the pitches: what there would be if one ended or shrank now. Nothing is decided here."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from allocations.models import Grant
from portal.board.budget import Budget
from portal.forms.desk import Marks

SHOWN_PROMISES = 40  # the largest; the grants page has all of them


@dataclass(frozen=True)
class Promise:
    """A grant as the desk shows it: what it does not keep would come back in the stretches `first` to before `last`."""

    grant: Grant
    key: str
    first: int
    last: int
    gpus: int
    is_ended: bool
    keeps: str


def without(budget: Budget, grants: Sequence[Grant], marks: Marks) -> tuple[Budget, list[Promise]]:
    """The budget as if the marked grants ended now or kept fewer, and the largest grants as the desk shows them."""
    room, promised = list(budget.room), list(budget.promised)
    promises = []
    for grant in grants[:SHOWN_PROMISES]:
        key = str(grant.public_id)
        first, last = bisect_left(budget.edges, grant.starts_at), bisect_left(budget.edges, grant.ends_at)
        promises.append(Promise(grant, key, first, last, grant.gpus, key in marks.ended, marks.keeps.get(key, "")))
        if key in marks.ended:
            freed = grant.gpus - marks.kept_gpus(key, of=grant.gpus)
            for stretch in range(first, last):
                room[stretch] += freed
                promised[stretch] -= freed
    return replace(budget, room=room, promised=promised), promises
