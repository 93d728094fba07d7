"""What is wrong with nodes and GPUs becomes findings: opened once, kept with their evidence, ended by good readings.

A restart of an agent proves nothing, and what a node did not show was not seen well: both end no finding.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection

from inventory.drivers.base import Fault, GpuSeen
from inventory.models import Gpu, Node
from inventory.queries import stale_after_s
from inventory.survey.comparing import Changes, KnownGpu
from inventory.survey.gpus import ACTOR
from inventory.survey.nodes import Heard, NodeState, Unheard
from inventory.survey.severity import CARDS_MISSING, CONFLICT, LOST, OWN, SILENT, STALE, is_told_once, severity
from inventory.trail import record_many

# What a driver tells once (an Xid) is believed for this long after an agent began anew and could not know of it.
TOLD_ONCE_FOR = timedelta(days=1)
LONGEST_EVIDENCE = 300

Key = tuple[int, int | None, str]  # node, GPU (None: the node itself), code

OPEN = """
SELECT id, node_id, gpu_id, code, seen_at, good_polls FROM inventory_finding
WHERE ended_at IS NULL AND (node_id = ANY(%s) OR gpu_id = ANY(%s))
"""
FIND = """
INSERT INTO inventory_finding (node_id, gpu_id, code, severity, evidence, since, seen_at, good_polls)
SELECT node_id, gpu_id, code, severity, evidence, since, seen_at, 0
FROM json_to_recordset(%s::json) AS found(
  node_id bigint, gpu_id bigint, code text, severity text, evidence text, since timestamptz, seen_at timestamptz)
ORDER BY node_id, gpu_id, code
ON CONFLICT DO NOTHING
RETURNING node_id, gpu_id, code, evidence
"""
SEE_AGAIN = """
UPDATE inventory_finding finding
SET severity = now.severity, evidence = now.evidence, seen_at = now.seen_at, good_polls = 0
FROM json_to_recordset(%s::json) AS now(id bigint, severity text, evidence text, seen_at timestamptz)
WHERE finding.id = now.id
"""
SEE_GOOD = """
UPDATE inventory_finding finding SET good_polls = now.good_polls, ended_at = now.ended_at
FROM json_to_recordset(%s::json) AS now(id bigint, good_polls int, ended_at timestamptz) WHERE finding.id = now.id
"""


class OpenFinding(NamedTuple):
    """A finding that has not ended."""

    pk: int
    node_id: int
    gpu_id: int | None
    code: str
    seen_at: datetime
    good_polls: int

    @property
    def key(self) -> Key:
        return self.node_id, self.gpu_id, self.code


class Found(NamedTuple):
    """Something wrong, as this survey shows it."""

    severity: str
    evidence: str
    since: datetime
    seen_at: datetime


@dataclass(slots=True)
class Health:
    """What one survey says about ill health. `well`: GPU -> instant at which it was seen, present and not lost.

    `tells_faults`: nodes whose agents would say what is wrong; `booted`: those that answer from another boot than
    before. `gone`: GPUs that were taken out of their slots; `claimed`: those that two nodes show. `owner_of`: GPU ->
    its node, for the nodes that answered.
    """

    found: dict[Key, Found] = field(default_factory=dict)
    heard: dict[int, datetime] = field(default_factory=dict)
    well: dict[int, datetime] = field(default_factory=dict)
    tells_faults: set[int] = field(default_factory=set)
    gone: dict[int, datetime] = field(default_factory=dict)
    booted: set[int] = field(default_factory=set)
    claimed: set[int] = field(default_factory=set)
    owner_of: dict[int, int] = field(default_factory=dict)

    def note(self, key: Key, evidence: str, since: datetime, seen_at: datetime) -> None:
        """That is wrong now, unless it is no ill health."""
        how_bad = severity(key[2], evidence)
        if how_bad:
            self.found.setdefault(key, Found(how_bad, evidence[:LONGEST_EVIDENCE], min(since, seen_at), seen_at))


def health_of(
    changes: Changes,
    known: Iterable[KnownGpu],
    ids: Mapping[str, int],
    heard: Sequence[Heard],
    unheard: Sequence[Unheard],
    *,
    now: datetime,
) -> Health:
    """What the answers say about ill health. `ids`: UUID -> row of the GPUs that were seen."""
    health = Health(
        heard={node.node_id: said.requested_at for node, said in heard},
        # An agent that says no version speaks the first wire, which has no faults.
        tells_faults={node.node_id for node, said in heard if said.observation.agent},
        booted={node.node_id for node, said in heard if said.observation.boot_id != node.boot_id},
        gone={gpu.gpu_id: claim.said.requested_at for gpu, claim in changes.replaced},
        owner_of={ids[claim.seen.uuid]: claim.node_id for claim in changes.claims if claim.seen.uuid in ids},
    )
    _note_nodes(health, heard, unheard, now)
    _note_gpus(health, changes, ids)
    _note_lost(health, changes, known)
    _note_conflicts(health, changes, ids, {node.node_id: node.name for node, _said in heard})
    return health


def write_findings(health: Health, nodes: Mapping[int, NodeState]) -> None:
    """The open findings of these nodes and GPUs are as `health` says; the trail tells what began and what ended."""
    with connection.cursor() as cursor:
        cursor.execute(OPEN, [[*nodes], [*health.well, *health.gone, *health.claimed]])
        standing = {finding.key: finding for finding in map(OpenFinding._make, cursor.fetchall())}
    again = [_again(standing[key], found) for key, found in health.found.items() if key in standing]
    fresh = [_fresh(key, found) for key, found in health.found.items() if key not in standing]
    good = [
        _good(finding, at, at_once=finding.gpu_id in health.gone)
        for key, finding in standing.items()
        if key not in health.found and (at := _seen_well(finding, health, nodes, standing))
    ]
    opened = _run(FIND, fresh)
    _run(SEE_AGAIN, again)
    _run(SEE_GOOD, good)
    ended = {row["id"] for row in good if row["ended_at"]}
    _tell("finding.opened", [((row[0], row[1], row[2]), row[3]) for row in opened], nodes)
    _tell("finding.ended", [(key, "") for key, finding in standing.items() if finding.pk in ended], nodes)


def _note_nodes(health: Health, heard: Sequence[Heard], unheard: Sequence[Unheard], now: datetime) -> None:
    for node, said in heard:
        observation, at = said.observation, said.requested_at
        for fault in observation.faults:
            health.note((node.node_id, None, fault.code), fault.detail, _since(fault, at), at)
        shown = sum(gpu.kind == "gpu" and not gpu.lost for gpu in observation.gpus)
        due = max(node.expected_gpus, observation.cards_on_bus or 0)
        if shown < due:
            on_bus = "" if observation.cards_on_bus is None else f", {observation.cards_on_bus} on the bus"
            evidence = f"{shown} cards seen, {node.expected_gpus} expected{on_bus}"
            health.note((node.node_id, None, CARDS_MISSING), evidence, at, at)
    for node, error in unheard:
        # Two answers may be lost before a node counts as silent, as with readings.
        if node.silent_since and (now - node.silent_since).total_seconds() >= stale_after_s():
            health.note((node.node_id, None, SILENT), f"{error.code}: {error}", node.silent_since, now)


def _note_gpus(health: Health, changes: Changes, gpu_ids: Mapping[str, int]) -> None:
    limit_s = stale_after_s()
    for node_id, said, seen, _known in changes.claims:
        gpu_id, at = gpu_ids.get(seen.uuid), said.requested_at
        if gpu_id is None:
            continue
        if not seen.lost:
            health.well[gpu_id] = at
        for fault in seen.faults:
            health.note((node_id, gpu_id, fault.code), fault.detail, _since(fault, at), at)
        if seen.lost:
            health.note((node_id, gpu_id, LOST), "its node says that it is lost", at, at)
        elif (age_s := _oldest_s(seen)) > limit_s:
            health.note((node_id, gpu_id, STALE), f"values are {age_s:.0f} s old", at - timedelta(seconds=age_s), at)


def _note_lost(health: Health, changes: Changes, known: Iterable[KnownGpu]) -> None:
    """A card that its node does not show is lost as long as it is; what was counted as a step back too."""
    back = {claim.known.gpu_id for claim in changes.returned if claim.known}
    missing = {gpu.gpu_id for gpu, _at, _why in changes.lost}
    for gpu in known:
        at = health.heard.get(gpu.node_id)
        stays_away = gpu.lost_at is not None and gpu.gpu_id not in back and gpu.gpu_id not in health.well
        if at and gpu.gpu_id not in health.gone and (gpu.gpu_id in missing or stays_away) and gpu.retired_at is None:
            health.note((gpu.node_id, gpu.gpu_id, LOST), "its node does not show it", gpu.lost_at or at, at)


def _note_conflicts(health: Health, changes: Changes, ids: Mapping[str, int], names: Mapping[int, str]) -> None:
    for conflict in changes.conflicts:
        gpu_id = conflict.known.gpu_id if conflict.known else ids.get(conflict.uuid)
        if gpu_id is not None:
            at = health.heard[conflict.claimant_id]
            evidence = f"{names[conflict.claimant_id]} shows this UUID too"
            for node_id in (conflict.owner_id, conflict.claimant_id):
                health.note((node_id, gpu_id, CONFLICT), evidence, at, at)
            health.claimed.add(gpu_id)


def _oldest_s(seen: GpuSeen) -> float:
    """Of what is read at each poll; power and heat may be older."""
    return max((value.age_s for value in (seen.util_pct, seen.mem_used_mib) if value.value is not None), default=0.0)


def _since(fault: Fault, at: datetime) -> datetime:
    """The node's clock where it can be true, ours where it cannot."""
    since = datetime.fromtimestamp(min(fault.since_s, 4e9), UTC)
    return since if at - timedelta(days=365) < since <= at else at


def _seen_well(
    finding: OpenFinding, health: Health, nodes: Mapping[int, NodeState], standing: Mapping[Key, OpenFinding]
) -> datetime | None:
    """When this survey saw that it is no more; None where it saw nothing of the kind."""
    node_id, gpu_id, code = finding.key
    if gpu_id in health.gone:
        return health.gone[gpu_id]
    if code == CONFLICT:
        # The owner shows the UUID in any case: it is right again once nobody else is known to.
        others = any(key[1:] == (gpu_id, CONFLICT) and key[0] != node_id for key in standing)
        is_owner = gpu_id is not None and health.owner_of.get(gpu_id) == node_id
        return None if is_owner and others else health.heard.get(node_id)
    at = health.heard.get(node_id) if gpu_id is None else health.well.get(gpu_id)
    if at is None or (code not in OWN and node_id not in health.tells_faults):
        return None
    node = nodes.get(node_id)
    booted_since = node is not None and node.boot_since is not None and node.boot_since > finding.seen_at
    forgot = is_told_once(code) and (node_id in health.booted or booted_since)
    return None if forgot and at < finding.seen_at + TOLD_ONCE_FOR else at


def _fresh(key: Key, found: Found) -> dict[str, Any]:
    node_id, gpu_id, code = key
    return {
        "node_id": node_id,
        "gpu_id": gpu_id,
        "code": code,
        "severity": found.severity,
        "evidence": found.evidence,
        "since": found.since.isoformat(),
        "seen_at": found.seen_at.isoformat(),
    }


def _again(finding: OpenFinding, found: Found) -> dict[str, Any]:
    seen_at = found.seen_at.isoformat()
    return {"id": finding.pk, "severity": found.severity, "evidence": found.evidence, "seen_at": seen_at}


def _good(finding: OpenFinding, at: datetime, *, at_once: bool) -> dict[str, Any]:
    good_polls = finding.good_polls + 1
    has_ended = at_once or good_polls >= settings.GOOD_POLLS
    return {"id": finding.pk, "good_polls": good_polls, "ended_at": at.isoformat() if has_ended else None}


def _tell(verb: str, rows: Iterable[tuple[Key, str]], nodes: Mapping[int, NodeState]) -> None:
    rows = list(rows)
    if not rows:
        return
    gpus = Gpu.objects.in_bulk([gpu_id for (_node, gpu_id, _code), _why in rows if gpu_id is not None])
    strangers = Node.objects.in_bulk([node_id for (node_id, *_rest), _why in rows if node_id not in nodes])
    names = {pk: node.name for pk, node in strangers.items()} | {pk: node.name for pk, node in nodes.items()}
    record_many(
        verb,
        [
            (
                gpus[gpu_id] if gpu_id is not None else Node(pk=node_id, name=names[node_id]),
                {"node": names[node_id], "code": code, "evidence": evidence},
            )
            for (node_id, gpu_id, code), evidence in rows
        ],
        by=ACTOR,
    )


def _run(statement: str, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    if not rows:
        return []
    with connection.cursor() as cursor:
        cursor.execute(statement, [json.dumps(rows)])
        return cursor.fetchall() if cursor.description else []
