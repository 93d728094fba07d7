"""What a survey changes on the GPUs that are known: pure, from rows and answers to a list of changes.

Identity is the UUID; the slot is apart. A card that its node no longer shows is lost, one whose slot shows another card
is replaced, one that another node shows has moved, unless its own node showed it a moment ago: then two nodes claim one
UUID, and the one that is known keeps it. One that was lost is back after several good polls in a row, never after one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from inventory.drivers.base import GpuSeen, Observed

MISSING = "missing"
SAYS_LOST = "lost"


class KnownGpu(NamedTuple):
    """A GPU's row with the clock of its newest reading (None: never read)."""

    gpu_id: int
    uuid: str
    node_id: int
    kind: str
    pci_bus_id: str
    lost_at: datetime | None
    retired_at: datetime | None
    parent_id: int | None
    requested_at: datetime | None
    boot_id: str | None
    sequence: int | None
    good_polls: int
    minor: int | None
    serial: str
    unified_memory: bool


class Claim(NamedTuple):
    """A GPU as its node shows it; `known` None: for the first time."""

    node_id: int
    said: Observed
    seen: GpuSeen
    known: KnownGpu | None


class Conflict(NamedTuple):
    """A node shows a UUID that is another node's. `known` None: both show it for the first time."""

    uuid: str
    known: KnownGpu | None
    owner_id: int
    claimant_id: int


@dataclass(slots=True)
class Changes:
    """`claims`: every GPU that was seen and is its node's. The rest: what became of the known ones.

    `mending`: lost ones with their good polls in a row so far; `seated`: taken out once, in a slot again, still lost.
    """

    claims: list[Claim] = field(default_factory=list)
    moved: list[Claim] = field(default_factory=list)
    lost: list[tuple[KnownGpu, datetime, str]] = field(default_factory=list)
    returned: list[Claim] = field(default_factory=list)
    mending: list[tuple[KnownGpu, int]] = field(default_factory=list)
    seated: list[KnownGpu] = field(default_factory=list)
    described: list[Claim] = field(default_factory=list)
    replaced: list[tuple[KnownGpu, Claim]] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


def compare(
    known: Iterable[KnownGpu],
    answers: Sequence[tuple[int, Observed]],
    *,
    fresh_after: datetime,
    good_polls: int = 1,
) -> Changes:
    """What the answers (node id, what it said), in the order of the ids, change about `known`.

    `known` holds the GPUs of the nodes that answered, and every GPU whose UUID they named. `good_polls`: so many in a
    row bring a lost one back.
    """
    by_uuid = {gpu.uuid: gpu for gpu in known}
    shown = {node_id: {gpu.uuid for gpu in said.observation.gpus} for node_id, said in answers}
    changes = Changes()
    owners: dict[str, Claim] = {}
    for node_id, said in answers:
        for seen in said.observation.gpus:
            gpu = by_uuid.get(seen.uuid)
            owner_id = _owner(gpu, seen.uuid, owners, shown, fresh_after, node_id)
            if owner_id == node_id:
                claim = owners[seen.uuid] = Claim(node_id, said, seen, gpu)
                changes.claims.append(claim)
            else:
                changes.conflicts.append(Conflict(seen.uuid, gpu, owner_id, node_id))
    _sort_out(by_uuid.values(), dict(answers), owners, changes, good_polls)
    return changes


def _owner(
    gpu: KnownGpu | None,
    uuid: str,
    owners: dict[str, Claim],
    shown: dict[int, set[str]],
    fresh_after: datetime,
    claimant_id: int,
) -> int:
    if uuid in owners:
        return owners[uuid].node_id
    if gpu is None or gpu.node_id == claimant_id or gpu.lost_at or gpu.retired_at:
        return claimant_id
    if gpu.node_id in shown:
        return gpu.node_id if uuid in shown[gpu.node_id] else claimant_id
    is_fresh = gpu.requested_at is not None and gpu.requested_at >= fresh_after
    return gpu.node_id if is_fresh else claimant_id


def _sort_out(
    known: Iterable[KnownGpu],
    answered: dict[int, Observed],
    owners: dict[str, Claim],
    changes: Changes,
    good_polls: int,
) -> None:
    slots = {(claim.node_id, claim.seen.pci_bus_id): claim for claim in changes.claims if claim.seen.kind == "gpu"}
    gone: dict[int, Claim] = {}
    for gpu in known:
        claim = owners.get(gpu.uuid)
        if claim is not None:
            _compare_one(gpu, claim, changes, good_polls)
        elif gpu.retired_at is None and gpu.node_id in answered:
            successor = slots.get((gpu.node_id, gpu.pci_bus_id)) if gpu.kind == "gpu" else None
            if successor is not None:
                gone[gpu.gpu_id] = successor
                changes.replaced.append((gpu, successor))
            elif gpu.lost_at is None:
                changes.lost.append((gpu, answered[gpu.node_id].requested_at, MISSING))
            elif gpu.good_polls:
                changes.mending.append((gpu, 0))
    # The instances of a card went with it.
    orphans = [row for row in changes.lost if row[0].parent_id in gone]
    changes.lost = [row for row in changes.lost if row[0].parent_id not in gone]
    changes.replaced += [(gpu, gone[gpu.parent_id]) for gpu, _at, _why in orphans if gpu.parent_id]


def _compare_one(gpu: KnownGpu, claim: Claim, changes: Changes, good_polls: int) -> None:
    seen = claim.seen
    if (gpu.node_id, gpu.pci_bus_id) != (claim.node_id, seen.pci_bus_id):
        changes.moved.append(claim)
    if _described_anew(gpu, claim):
        changes.described.append(claim)
    was_taken_out = gpu.retired_at is not None
    if seen.lost:
        if was_taken_out:
            changes.returned.append(claim)
        if was_taken_out or gpu.lost_at is None:
            changes.lost.append((gpu, claim.said.requested_at, SAYS_LOST))
        elif gpu.good_polls:
            changes.mending.append((gpu, 0))
    elif gpu.lost_at is None:
        if was_taken_out:
            changes.returned.append(claim)
    elif gpu.good_polls + 1 >= good_polls:
        changes.returned.append(claim)
    else:
        changes.mending.append((gpu, gpu.good_polls + 1))
        if was_taken_out:
            changes.seated.append(gpu)


def _described_anew(gpu: KnownGpu, claim: Claim) -> bool:
    """Whether the node tells its device number or serial number, and otherwise than before."""
    seen = claim.seen
    return (
        (seen.minor is not None and seen.minor != gpu.minor)
        or (seen.serial != "" and seen.serial != gpu.serial)
        or (seen.unified_memory and not gpu.unified_memory)
    )
