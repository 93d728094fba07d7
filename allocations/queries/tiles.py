"""The fleet map's data: every unit in columns, and of these what changed since somebody looked last.

A hundred thousand units would take Python a second to read row by row. The database writes each column as the text of a
JSON list instead, and nothing here touches a single unit.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection
from django.db.models.expressions import RawSQL
from django.utils import timezone

from allocations.models import Project
from allocations.queries.fleet import Doing, fleet_units
from inventory import queries as facts

NOBODY, UNKNOWN = -1, -2  # in place of a number of `names`
KEPT_S = 3_600  # who looked last before that gets everything anew; transactions are told apart far longer
WHOLE_FROM_SHARE = 1 / 3  # of the fleet: from there on everything is no more to send
FIELDS = (
    "pk", "node_id", "pci_bus_id", "node__name", "node__site", "node__island", "model__name", "doing", "since",
    "holder", "assigned_to", "reading__util_pct", "reading__power_w", "reading__requested_at",
)  # fmt: skip
COLUMNS = ("gpu", "doing", "since", "holder", "assigned", "use", "power", "read")
COLUMNS_SQL = """
WITH unit(pk, node_id, slot, node, site, island, model, doing, since, holder, assigned, util_pct, power_w, read_at)
AS MATERIALIZED ({units}), name AS MATERIALIZED (
  SELECT row_number() OVER (ORDER BY name) - 1 AS number, name
  FROM (SELECT holder FROM unit UNION SELECT assigned FROM unit) AS told(name) WHERE name <> ''
), placed AS MATERIALIZED (
  SELECT unit.*, coalesce(held.number, CASE WHEN holder IS NULL THEN {unknown} ELSE {nobody} END) AS held,
    coalesce(meant.number, {nobody}) AS meant
  FROM unit LEFT JOIN name held ON held.name = unit.holder LEFT JOIN name meant ON meant.name = unit.assigned
  ORDER BY site COLLATE "C", island COLLATE "C", model COLLATE "C", node COLLATE "C", slot COLLATE "C", pk
), spaced AS (
  SELECT placed.*, pk - lag(pk, 1, 0::bigint) OVER () AS gap FROM placed
), machine AS (
  SELECT site, island, model, node, count(*) AS gpus, string_agg(slot, ' ') AS slots
  FROM placed GROUP BY site, island, model, node
)
SELECT (SELECT coalesce(json_agg(name ORDER BY number), '[]') FROM name)::text, (
    SELECT coalesce(json_agg(json_build_array(node, site, island, model, gpus, slots)
      ORDER BY site COLLATE "C", island COLLATE "C", model COLLATE "C", node COLLATE "C"), '[]') FROM machine
  )::text,
  string_agg(gap::text, ','), string_agg((array_position(%s::text[], doing::text) - 1)::text, ','),
  string_agg(coalesce(floor((%s - extract(epoch FROM since)) / 60)::int::text, 'null'), ','),
  string_agg(held::text, ','), string_agg(meant::text, ','),
  string_agg(coalesce(round(util_pct)::int::text, 'null'), ','),
  string_agg(coalesce(round(power_w)::int::text, 'null'), ','),
  string_agg(coalesce((%s - extract(epoch FROM read_at))::int::text, 'null'), ',')
FROM spaced
"""
# Which transactions had ended when somebody looked, and which units there were, in which places.
VERSION_SQL = """
SELECT pg_snapshot_xmin(pg_current_snapshot())::text, count(*), coalesce(sum(hashtextextended(concat_ws(
  '/', unit.id, pci_bus_id, unit.model_id, node.name, node.site, node.island), 0)), 0)::text
FROM ({units}) AS unit(id, pci_bus_id, model_id, node_id) JOIN inventory_node node ON node.id = unit.node_id
"""
# What a transaction wrote that had not ended then; and what the clock alone changes: a reading and a verdict grow
# stale, a cordon begins and ends.
CHANGED_SQL = """
WITH seen AS (SELECT age(%(xid)s::xid8::xid) AS age)
SELECT gpu_id FROM inventory_reading, seen WHERE age(inventory_reading.xmin) <= seen.age
  OR (requested_at >= %(stale_from)s AND requested_at < %(stale_until)s)
UNION SELECT gpu_id FROM inventory_activity, seen WHERE age(inventory_activity.xmin) <= seen.age
  OR (judged_at >= %(judged_from)s AND judged_at < %(judged_until)s)
UNION SELECT gpu_id FROM allocations_move, seen WHERE age(allocations_move.xmin) <= seen.age
UNION SELECT gpu_id FROM allocations_assignment, seen WHERE age(allocations_assignment.xmin) <= seen.age
UNION SELECT id FROM inventory_gpu, seen WHERE age(inventory_gpu.xmin) <= seen.age
UNION SELECT gpu.id FROM inventory_cordon cordon JOIN inventory_gpu gpu ON gpu.node_id = cordon.node_id, seen
WHERE age(cordon.xmin) <= seen.age OR (lower(during) > %(then)s AND lower(during) <= %(now)s)
  OR (upper(during) > %(then)s AND upper(during) <= %(now)s)
"""


@dataclass(frozen=True)
class Version:
    """What somebody has seen: by transactions, by the clock (seconds), and in which places."""

    xid: int
    at: int
    places: str

    def __str__(self) -> str:
        return f"{self.xid}.{self.at}.{self.places}"


@dataclass(frozen=True)
class Tiles:
    """JSON as of a version; `body` None: nothing changed since the version that was asked about."""

    version: Version
    body: str | None


def version_of(text: str) -> Version | None:
    """What `str` of a version says; None for anything else."""
    xid, _dot, rest = text.partition(".")
    at, _dot, places = rest.partition(".")
    # Longer ones are no numbers of ours, and the database would refuse them.
    if not (xid.isascii() and xid.isdecimal() and len(xid) < 19 and at.isascii() and at.isdecimal() and len(at) < 12):
        return None
    return Version(int(xid), int(at), places)


def version_now(now: datetime | None = None) -> tuple[Version, int]:
    """What somebody sees who looks now, and how many units there are."""
    rows = facts.units().order_by().values_list("pk", "pci_bus_id", "model_id", "node_id")
    sql, params = rows.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(VERSION_SQL.format(units=sql), params)
        xid, units, places = cursor.fetchone()
    return Version(int(xid), int((now or timezone.now()).timestamp()), f"{units}:{places}"), units


def changed_since(seen: Version, now: datetime) -> set[int]:
    """The GPUs of which something may look otherwise than it did then; never too few, at times too many."""
    then = datetime.fromtimestamp(seen.at, UTC)
    stale_for, judged_for = now - facts.fresh_after(now), facts.VERDICT_FRESH_FOR
    values: dict[str, Any] = {
        "xid": str(seen.xid), "then": then, "now": now,
        "stale_from": then - stale_for, "stale_until": now - stale_for,
        "judged_from": then - judged_for, "judged_until": now - judged_for,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(CHANGED_SQL, values)
        return {gpu_id for (gpu_id,) in cursor.fetchall()}


def tiles(seen: Version | None = None, *, is_part_enough: bool = False, now: datetime | None = None) -> Tiles:
    """The map's data: all of it, or only what changed since `seen` where a part is enough.

    `nodes` is null in what is only a part. `gpu` is how much the unit's key is above the one before; `since` counts
    minutes and `read` seconds back from `now`; `holder` and `assigned` are numbers of `names`.
    """
    now = now or timezone.now()
    version, units = version_now(now)
    only: set[int] | None = None
    if seen is not None and seen.places == version.places and 0 <= version.at - seen.at <= KEPT_S:
        only = changed_since(seen, now)
        if not only:
            return Tiles(version, None)
        if not is_part_enough or len(only) > units * WHOLE_FROM_SHARE:
            only = None
    return Tiles(version, _written(version, now, only))


def _written(version: Version, now: datetime, only: Collection[int] | None) -> str:
    rows = fleet_units(now=now).order_by()
    if only is not None:
        rows = rows.filter(pk__in=RawSQL("SELECT unnest(%s::bigint[])", [list(only)]))
    sql, params = rows.values_list(*FIELDS).query.sql_with_params()
    at = version.at
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS_SQL.format(units=sql, nobody=NOBODY, unknown=UNKNOWN), [*params, Doing.values, at, at])
        names, nodes, *columns = cursor.fetchone()
    head = {
        "version": str(version), "now": at, "stale_s": facts.stale_after_s(), "kinds": Doing.values,
        "names": json.loads(names), "projects": _projects(json.loads(names)),
        "nodes": None if only is not None else _nodes(json.loads(nodes)),
    }  # fmt: skip
    texts = ",".join(f'"{name}":[{text or ""}]' for name, text in zip(COLUMNS, columns, strict=True))
    return f"{json.dumps(head, separators=(',', ':'))[:-1]},{texts}}}"


def _projects(names: list[str]) -> list[list[Any] | None]:
    """[name, division's slug, its name, number] of each name; None where no project has that slug."""
    rows = Project.objects.filter(slug__in=names).values_list("slug", "name", "division__slug", "division__name", "pk")
    found = {slug: [name, division, division_name, pk - 1] for slug, name, division, division_name, pk in rows}
    return [found.get(name) for name in names]


def _nodes(rows: list[list[Any]]) -> dict[str, list[Any]]:
    """The nodes in columns; sites, islands, models and the slots of a node's GPUs by their number in a list of each."""
    told: dict[str, dict[str, int]] = {"sites": {}, "islands": {}, "models": {}, "slots": {}}
    columns: dict[str, list[Any]] = {"name": [], "site": [], "island": [], "model": [], "gpus": [], "slot": []}
    for name, site, island, model, gpus, slots in rows:
        columns["name"].append(name)
        columns["gpus"].append(gpus)
        for column, value in (("site", site), ("island", island), ("model", model), ("slot", slots)):
            known = told[f"{column}s"]
            columns[column].append(known.setdefault(value, len(known)))
    return {**columns, **{name: list(known) for name, known in told.items()}}
