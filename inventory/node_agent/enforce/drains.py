"""What still stands between an order and its GPU: pure rules over who was found on it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from inventory.node_agent.enforce.holders import ROOT, Holder
from inventory.node_agent.enforce.orders_kept import Kept
from inventory.node_agent.protocol import ProcessSeen


@dataclass(frozen=True, slots=True)
class Drain:
    """`waiting`: pids that must end before the GPU is free. `to_end`: those that the order's authority may end.

    `elsewhere`: works on another GPU with a right to it and only has this one open: never ended for this one's sake.
    `is_known`: whether who is on the GPU could be found out; a drain that is not known has not ended. `is_recent`:
    whether that was found out after the order came.
    """

    waiting: frozenset[int]
    to_end: tuple[Holder, ...]
    elsewhere: tuple[Holder, ...]
    is_known: bool
    is_recent: bool = True

    @property
    def has_ended(self) -> bool:
        return self.is_known and self.is_recent and not self.waiting


def may_hold(kept: Kept, uid: int, service_uids: Collection[int]) -> bool:
    """Whether that user's processes are on the GPU by right: the old holder's members until its drain has ended."""
    order = kept.reached if kept.is_switch and kept.reached is not None else kept.order
    return uid in order.unix_ids or uid in service_uids


def drain_of(
    kept: Kept,
    open_by: Sequence[Holder],
    listed: Sequence[ProcessSeen] | None,
    *,
    works_elsewhere: frozenset[int],
    service_uids: Collection[int],
    is_whole: bool,
    waits_for_works_elsewhere: bool,
) -> Drain:
    """Who has to leave for `kept` to come true. `open_by`: descriptors found now; `listed`: NVML's list, None unknown.

    Root's descriptors are passed over: root cannot be kept out, and the agent's own probe is among them. What NVML
    lists counts whoever it is. Without a switch those who may not hold the GPU are waited for all the same: leavers and
    strangers.
    """
    listed_pids = {process.pid for process in listed or ()}

    def stays(uid: int | None) -> bool:
        if uid in service_uids:
            return True
        # Who has the GPU anew may have worked on it before as somebody else's member, except where it was nobody's.
        return uid in kept.order.unix_ids and (not kept.is_switch or kept.reached is None)

    by_pid = {holder.pid: holder for holder in open_by}
    leaving = [holder for holder in by_pid.values() if holder.uid != ROOT and not stays(holder.uid)]
    elsewhere = tuple(holder for holder in leaving if holder.pid in works_elsewhere - listed_pids)
    waiting = {process.pid for process in listed or () if not stays(process.uid)}
    waiting |= {holder.pid for holder in leaving if waits_for_works_elsewhere or holder not in elsewhere}
    to_end = tuple(holder for holder in leaving if holder not in elsewhere)
    return Drain(frozenset(waiting), to_end, elsewhere, listed is not None and is_whole)
