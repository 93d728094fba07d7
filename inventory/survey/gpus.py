"""What a survey changed about GPUs, written set by set, with its events."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from inventory.models import Event, Gpu, Node
from inventory.survey.comparing import Changes, Claim, Conflict
from inventory.trail import record_many

ACTOR = "survey"
# Two nodes that claim one UUID do so at every poll; the trail says it once a day.
CONFLICT_AGAIN_AFTER = timedelta(days=1)

RETIRE = """
UPDATE inventory_gpu gpu SET retired_at = gone.at
FROM json_to_recordset(%s::json) AS gone(gpu_id bigint, at timestamptz) WHERE gpu.id = gone.gpu_id
"""
LEAVE_SLOTS = "UPDATE inventory_gpu SET pci_bus_id = '' WHERE id = ANY(%s)"
RETURN = "UPDATE inventory_gpu SET lost_at = NULL, retired_at = NULL, good_polls = 0 WHERE id = ANY(%s)"
SEAT = "UPDATE inventory_gpu SET retired_at = NULL WHERE id = ANY(%s)"
MEND = """
UPDATE inventory_gpu gpu SET good_polls = now.good_polls
FROM json_to_recordset(%s::json) AS now(gpu_id bigint, good_polls int) WHERE gpu.id = now.gpu_id
"""
DESCRIBE = """
UPDATE inventory_gpu gpu SET minor = coalesce(now.minor, gpu.minor),
  serial = CASE WHEN now.serial = '' THEN gpu.serial ELSE now.serial END,
  unified_memory = gpu.unified_memory OR now.unified_memory
FROM json_to_recordset(%s::json) AS now(gpu_id bigint, minor int, serial text, unified_memory boolean)
WHERE gpu.id = now.gpu_id
"""
LOSE = """
UPDATE inventory_gpu gpu SET lost_at = gone.at, good_polls = 0
FROM json_to_recordset(%s::json) AS gone(gpu_id bigint, at timestamptz) WHERE gpu.id = gone.gpu_id
"""
TAKE_SLOTS = """
UPDATE inventory_gpu gpu SET node_id = place.node_id, pci_bus_id = place.pci_bus_id
FROM json_to_recordset(%s::json) AS place(gpu_id bigint, node_id bigint, pci_bus_id text) WHERE gpu.id = place.gpu_id
"""
# A model's name stays as it was first met; its memory is filled in by whoever knows it first.
MEET_MODELS = """
INSERT INTO inventory_gpumodel AS model (name, memory_mib)
SELECT name, max(memory_mib) FROM json_to_recordset(%s::json) AS met(name text, memory_mib int)
GROUP BY name ORDER BY name
ON CONFLICT (name) DO UPDATE SET memory_mib = excluded.memory_mib
WHERE model.memory_mib IS NULL AND excluded.memory_mib IS NOT NULL
"""
# An instance whose card nobody has shown yet waits for the next survey. A UUID that another survey stored meanwhile is
# that one's.
APPEAR = """
INSERT INTO inventory_gpu (
  uuid, kind, parent_id, node_id, pci_bus_id, model_id, first_seen_at, lost_at, minor, serial, unified_memory)
SELECT seen.uuid, seen.kind, card.id, seen.node_id, seen.pci_bus_id, model.id, seen.at, seen.lost_at,
  seen.minor, seen.serial, seen.unified_memory
FROM json_to_recordset(%s::json) AS seen(
  uuid text, kind text, parent_uuid text, node_id bigint, pci_bus_id text, model text, at timestamptz,
  lost_at timestamptz, minor int, serial text, unified_memory boolean)
JOIN inventory_gpumodel model ON model.name = seen.model
LEFT JOIN inventory_gpu card ON card.uuid = seen.parent_uuid
WHERE seen.kind = 'gpu' OR card.id IS NOT NULL
ORDER BY seen.uuid
ON CONFLICT (uuid) DO NOTHING
RETURNING uuid, id
"""


def write_gpus(changes: Changes, *, node_names: Mapping[int, str]) -> dict[str, int]:
    """The GPUs' rows are as `changes` says, and the trail tells it; UUID -> row of every GPU that was seen.

    Runs no statement when nothing changed. Slots are left before others take them: the database refuses two cards in
    one slot, be it for a moment.
    """
    ids = {claim.seen.uuid: claim.known.gpu_id for claim in changes.claims if claim.known}
    replaced = [{"gpu_id": gpu.gpu_id, "at": _at(claim)} for gpu, claim in changes.replaced]
    moved = [(claim.known.gpu_id, claim) for claim in changes.moved if claim.known]
    _run(RETIRE, json.dumps(replaced), when=replaced)
    _run(LEAVE_SLOTS, [gpu_id for gpu_id, _claim in moved], when=moved)
    _run(RETURN, [ids[claim.seen.uuid] for claim in changes.returned], when=changes.returned)
    _run(SEAT, [gpu.gpu_id for gpu in changes.seated], when=changes.seated)
    mending = [{"gpu_id": gpu.gpu_id, "good_polls": count} for gpu, count in changes.mending]
    _run(MEND, json.dumps(mending), when=mending)
    lost = [{"gpu_id": gpu.gpu_id, "at": at.isoformat()} for gpu, at, _why in changes.lost]
    _run(LOSE, json.dumps(lost), when=lost)
    places = [
        {"gpu_id": gpu_id, "node_id": claim.node_id, "pci_bus_id": claim.seen.pci_bus_id} for gpu_id, claim in moved
    ]
    _run(TAKE_SLOTS, json.dumps(places), when=places)
    described = [{"gpu_id": ids[claim.seen.uuid]} | _description(claim) for claim in changes.described]
    _run(DESCRIBE, json.dumps(described), when=described)
    fresh = [claim for claim in changes.claims if claim.known is None]
    ids |= _appear(fresh)
    _record(changes, [claim for claim in fresh if claim.seen.uuid in ids], ids, dict(node_names))
    return ids


def _appear(fresh: Sequence[Claim]) -> dict[str, int]:
    if not fresh:
        return {}
    models = [{"name": claim.seen.model[:80], "memory_mib": claim.seen.memory_total_mib} for claim in fresh]
    _run(MEET_MODELS, json.dumps(models), when=models)
    ids: dict[str, int] = {}
    for kind in ("gpu", "mig"):
        rows = [_fresh_row(claim) for claim in fresh if claim.seen.kind == kind]
        ids |= dict(_run(APPEAR, json.dumps(rows), when=rows))
    return ids


def _fresh_row(claim: Claim) -> dict[str, Any]:
    seen = claim.seen
    return {
        "uuid": seen.uuid,
        "kind": seen.kind,
        "parent_uuid": seen.parent_uuid,
        "node_id": claim.node_id,
        "pci_bus_id": seen.pci_bus_id,
        "model": seen.model[:80],
        "at": _at(claim),
        "lost_at": _at(claim) if seen.lost else None,
    } | _description(claim)


def _description(claim: Claim) -> dict[str, Any]:
    seen = claim.seen
    return {"minor": seen.minor, "serial": seen.serial, "unified_memory": seen.unified_memory}


def _record(changes: Changes, fresh: Sequence[Claim], ids: Mapping[str, int], names: dict[int, str]) -> None:
    def here(claim: Claim) -> dict[str, Any]:
        return {"node": names[claim.node_id], "slot": claim.seen.pci_bus_id, "model": claim.seen.model}

    missing = {gpu.node_id for gpu in (claim.known for claim in changes.moved) if gpu} | {
        conflict.owner_id for conflict in changes.conflicts
    }
    if missing := missing - names.keys():
        names.update(Node.objects.filter(pk__in=missing).values_list("pk", "name"))
    _tell("gpu.appeared", ((ids[claim.seen.uuid], claim.seen.uuid, here(claim)) for claim in fresh))
    _tell(
        "gpu.replaced",
        ((gpu.gpu_id, gpu.uuid, here(claim) | {"by": claim.seen.uuid}) for gpu, claim in changes.replaced),
    )
    _tell(
        "gpu.moved",
        (
            (gpu.gpu_id, gpu.uuid, here(claim) | {"from_node": names[gpu.node_id], "from_slot": gpu.pci_bus_id})
            for claim in changes.moved
            if (gpu := claim.known)
        ),
    )
    _tell("gpu.returned", ((ids[claim.seen.uuid], claim.seen.uuid, here(claim)) for claim in changes.returned))
    _tell(
        "gpu.lost",
        (
            (gpu.gpu_id, gpu.uuid, {"node": names[gpu.node_id], "slot": gpu.pci_bus_id, "why": why})
            for gpu, _at, why in changes.lost
        ),
    )
    if changes.conflicts:
        _tell("gpu.conflict", _news(changes.conflicts, ids, names))


def _news(
    conflicts: Iterable[Conflict], ids: Mapping[str, int], names: Mapping[int, str]
) -> Iterable[tuple[int, str, dict[str, Any]]]:
    """The conflicts that the trail has not told lately."""
    found = []
    for conflict in conflicts:
        gpu_id = conflict.known.gpu_id if conflict.known else ids.get(conflict.uuid)
        if gpu_id is not None:
            facts = {"owner": names[conflict.owner_id], "claimed_by": names[conflict.claimant_id]}
            found.append((gpu_id, conflict.uuid, facts))
    told = Event.objects.filter(
        Q(verb="gpu.conflict", subject_kind="gpu", subject_id__in=[str(row[0]) for row in found]),
        at__gte=timezone.now() - CONFLICT_AGAIN_AFTER,
    ).values_list("subject_id", "facts__claimed_by")
    known = set(told)
    return [row for row in found if (str(row[0]), row[2]["claimed_by"]) not in known]


def _tell(verb: str, rows: Iterable[tuple[int, str, dict[str, Any]]]) -> None:
    subjects = [(Gpu(pk=gpu_id, uuid=uuid), facts) for gpu_id, uuid, facts in rows]
    if subjects:
        record_many(verb, subjects, by=ACTOR)


def _run(statement: str, value: str | list[int], *, when: Sequence[object]) -> list[Any]:
    if not when:
        return []
    with connection.cursor() as cursor:
        cursor.execute(statement, [value])
        return cursor.fetchall() if cursor.description else []


def _at(claim: Claim) -> str:
    return claim.said.requested_at.isoformat()
