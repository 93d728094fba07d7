"""Several small lists of rows in one query: each comes back as the database's own JSON and is made into rows again.

For what a page shows beside one thing; what is large, or has decimals, is better asked for on its own.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import F, JSONField, QuerySet, Subquery

from allocations.models import Person, Role

# What pages and rules ask of these; the rest is fetched when somebody asks for it.
ENOUGH: Mapping[type[models.Model], Collection[str]] = {
    Person: {"id", "username", "first_name", "last_name", "email", "time_zone", "is_active"}
}


class _Rows(Subquery):
    template = "(SELECT COALESCE(jsonb_agg(_row), '[]'::jsonb) FROM (%(subquery)s) _row)"
    output_field = JSONField()


@dataclass(frozen=True)
class Wanted:
    """Rows, the names of their columns (none: all) and of the foreign keys whose rows come with them."""

    rows: QuerySet[Any]
    columns: Collection[str] = ()
    related: Sequence[str] = ()


def together(*wanted: Wanted) -> list[list[Any]]:
    """The rows of each, in its order; one query."""
    plans = [(each, _plan(each)) for each in wanted]
    lists = [_Rows(each.rows.values(**{alias: F(path) for alias, path in plan.items()})) for each, plan in plans]
    # A table that always has a row, for a SELECT needs one.
    found = Role.objects.order_by("pk").values_list(*lists)[:1]
    packed = found[0] if found else [[] for _each in wanted]
    return [[_row(each, row) for row in rows or ()] for (each, _plan_of), rows in zip(plans, packed, strict=True)]


def load_together(parents: Sequence[models.Model], beside: Sequence[Wanted] = (), **wanted: Wanted) -> list[list[Any]]:
    """Each parent has its rows of the reverse relations at hand, by the relations' names; the rows of `beside`.

    One query.
    """
    if not parents:
        return [[] for _each in beside]
    relations = {name: type(parents[0])._meta.get_field(name) for name in wanted}
    links = {name: relation.field for name, relation in relations.items()}  # type: ignore[union-attr]
    asked = [
        Wanted(each.rows.filter(**{f"{links[name].name}__in": parents}), each.columns, each.related)
        for name, each in wanted.items()
    ]
    found = together(*asked, *beside)
    for name, rows in zip(wanted, found, strict=False):
        by_parent: dict[Any, list[Any]] = defaultdict(list)
        for row in rows:
            by_parent[getattr(row, links[name].attname)].append(row)
        for parent in parents:
            for row in by_parent[parent.pk]:
                setattr(row, links[name].name, parent)
            _remember(parent, name, by_parent[parent.pk])
    return found[len(wanted) :]


def _remember(parent: models.Model, name: str, rows: list[Any]) -> None:
    found = getattr(parent, name).all()
    found._result_cache, found._prefetch_done = rows, True
    parent.__dict__.setdefault("_prefetched_objects_cache", {})[name] = found


def _plan(wanted: Wanted) -> dict[str, str]:
    """Alias -> path of every column that is asked for."""
    model = wanted.rows.model
    plan = {f"r_{each.attname}": each.attname for each in _fields(model, wanted.columns)}
    for name in wanted.related:
        for each in _fields(_target(model, name)):
            plan[f"{name}__r_{each.attname}"] = f"{name}__{each.attname}"
    return plan


def _row(wanted: Wanted, packed: Mapping[str, Any]) -> Any:
    model = wanted.rows.model
    row = _instance(model, _fields(model, wanted.columns), packed, "r_")
    for name in wanted.related:
        target = _target(model, name)
        is_there = packed[f"{name}__r_{target._meta.pk.attname}"] is not None
        setattr(row, name, _instance(target, _fields(target), packed, f"{name}__r_") if is_there else None)
    return row


def _instance(model: type[models.Model], fields: Sequence[Any], packed: Mapping[str, Any], prefix: str) -> Any:
    values = [each.to_python(packed[prefix + each.attname]) for each in fields]
    return model.from_db("default", [each.attname for each in fields], values)


def _fields(model: type[models.Model], columns: Collection[str] = ()) -> list[Any]:
    names = columns or ENOUGH.get(model, ())
    return [each for each in model._meta.concrete_fields if not names or each.primary_key or each.attname in names]


def _target(model: type[models.Model], name: str) -> type[models.Model]:
    target: Any = model._meta.get_field(name).related_model
    return target  # type: ignore[no-any-return]
