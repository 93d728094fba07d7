"""A fleet file against the nodes that are known: what is new is added, what differs is changed, nothing is retired."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.utils.translation import gettext as _

from inventory.imports.declared import DeclaredNode
from inventory.imports.islands import Kind, group
from inventory.imports.known_cards import declare_cards
from inventory.models import GpuModel, Node
from inventory.trail import record_many

IMPORT_LOCK = 0xF1EE7  # advisory: two imports at once would both add the same nodes
BATCH = 2_000  # rows of one INSERT; below PostgreSQL's 65,535 parameters at 16 columns
LOCK = "SELECT id FROM inventory_node WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE"

UPDATE = """
UPDATE inventory_node node
SET site = declared.site, island = declared.island, labels = declared.labels, model_id = declared.model_id,
    expected_gpus = declared.expected_gpus, source = declared.source
FROM jsonb_to_recordset(%s::jsonb) AS declared(
  id bigint, site text, island text, labels jsonb, model_id bigint, expected_gpus int, source text)
WHERE node.id = declared.id
"""


@dataclass(frozen=True, slots=True)
class Change:
    """What an import changed on a known node: field -> (before, after)."""

    name: str
    fields: dict[str, tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row of the file that declared nothing, and why."""

    name: str
    why: str


@dataclass(slots=True)
class ImportReport:
    """What an import did. `absent`: known from this file and not in it now; `elsewhere`: declared by other sources."""

    added: list[str] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    unchanged: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    gpus: int = 0


@transaction.atomic
def import_fleet(
    *,
    nodes: Sequence[DeclaredNode],
    source: str,
    by: object,
    left_out: Sequence[tuple[str, str]] = (),
    island_size: int | None = None,
    dry_run: bool = False,
) -> ImportReport:
    """Every declared node is known as declared; retired ones are left alone, and those not declared too.

    `island_size`: nodes of which neither file nor database knows the island are grouped, so many equal ones together.
    A repeat changes nothing. `dry_run`: the same report, nothing written. One import at a time.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [IMPORT_LOCK])
    known = {node.name: node for node in Node.objects.select_related("model")}
    report = ImportReport(left_out=[LeftOut(name, why) for name, why in left_out])
    wanted = []
    for declared in nodes:
        node = known.get(declared.name)
        if node is not None and node.retired_at is not None:
            report.left_out.append(LeftOut(declared.name, _("it was retired; bring it back by hand")))
        else:
            wanted.append(declared)
    report.gpus = sum(declared.gpus for declared in wanted)
    islands = _islands(wanted, known.values(), island_size) if island_size else {}
    models = _models({declared.model for declared in wanted})
    fresh = []
    changed = []
    for declared in wanted:
        node = known.get(declared.name) or Node(name=declared.name)
        before = _declared_fields(node) if node.pk else {}
        _declare(node, declared, models[declared.model], islands.get(declared.name, ""), source)
        if not node.pk:
            fresh.append(node)
        elif fields := {
            key: (before[key], after) for key, after in _declared_fields(node).items() if after != before[key]
        }:
            changed.append((node, Change(node.name, fields)))
    _write(fresh, changed, source=source, by=by)
    report.left_out += [LeftOut(uuid, why) for uuid, why in _cards(wanted, known, fresh, source=source, by=by)]
    report.added = [node.name for node in fresh]
    report.changed = [change for _node, change in changed]
    report.unchanged = len(wanted) - len(fresh) - len(changed)
    _tell_rest(report, known.values(), {declared.name for declared in nodes}, source)
    transaction.set_rollback(dry_run)
    return report


def _cards(
    wanted: Sequence[DeclaredNode], known: dict[str, Node], fresh: Sequence[Node], *, source: str, by: object
) -> list[tuple[str, str]]:
    rows = known | {node.name: node for node in fresh}
    cards = [(rows[node.name], card) for node in wanted for card in node.cards]
    return declare_cards(cards, by=by, reason=source)


def _models(names: set[str]) -> dict[str, GpuModel]:
    GpuModel.objects.bulk_create([GpuModel(name=name) for name in sorted(names)], ignore_conflicts=True)
    return {model.name: model for model in GpuModel.objects.filter(name__in=names)}


def _islands(declared: Sequence[DeclaredNode], known: Iterable[Node], size: int) -> dict[str, str]:
    rows = {node.name: (node.island, Kind(node.site, node.model.name, node.expected_gpus)) for node in known}
    for node in declared:
        island, kind = rows.get(node.name, ("", Kind("", "", 0)))
        rows[node.name] = (node.island or island, Kind(node.site or kind.site, node.model, node.gpus))
    homeless = [(node.name, rows[node.name][1]) for node in declared if not rows[node.name][0]]
    return dict(group(homeless, (row for row in rows.values() if row[0]), size=size))


def _declare(node: Node, declared: DeclaredNode, model: GpuModel, island: str, source: str) -> None:
    node.model = model
    node.expected_gpus = declared.gpus
    node.site = declared.site or node.site
    node.island = declared.island or node.island or island
    node.labels = {**node.labels, **declared.labels}
    node.source = source


def _declared_fields(node: Node) -> dict[str, Any]:
    return {
        "site": node.site,
        "island": node.island,
        "labels": node.labels,
        "model": node.model.name,
        "expected_gpus": node.expected_gpus,
        "source": node.source,
    }


def _write(fresh: list[Node], changed: list[tuple[Node, Change]], *, source: str, by: object) -> None:
    if fresh:
        Node.objects.bulk_create(fresh, batch_size=BATCH)
        record_many("node.added", [(node, _declared_fields(node)) for node in fresh], by=by, reason=source)
    if changed:
        rows = [_row(node) for node, _change in changed]
        with connection.cursor() as cursor:
            # In the order in which surveys lock them: else each could hold what the other waits for.
            cursor.execute(LOCK, [[row["id"] for row in rows]])
            cursor.execute(UPDATE, [json.dumps(rows)])
        record_many("node.changed", [(node, change.fields) for node, change in changed], by=by, reason=source)


def _row(node: Node) -> dict[str, Any]:
    names = ("id", "site", "island", "labels", "model_id", "expected_gpus", "source")
    return {name: getattr(node, name) for name in names}


def _tell_rest(report: ImportReport, known: Iterable[Node], named: set[str], source: str) -> None:
    for node in sorted(known, key=lambda node: node.name):
        if node.retired_at is None and node.name not in named:
            (report.absent if node.source == source else report.elsewhere).append(node.name)
