"""Several small lists of rows in one statement: each comes back as the database's own JSON and is made into rows again.

For what a page shows beside one thing; what is large, or has decimals, is better asked for on its own.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection, models
from django.db.models import QuerySet

from allocations.models import Person

# What pages and rules ask of these; the rest is fetched when somebody asks for it.
ENOUGH: Mapping[type[models.Model], Collection[str]] = {
    Person: {"id", "username", "first_name", "last_name", "email", "time_zone", "is_active"}
}


@dataclass(frozen=True)
class Wanted:
    """Rows, the names of their columns (none: all) and of the foreign keys whose rows come with them."""

    rows: QuerySet[Any]
    columns: Collection[str] = ()
    related: Sequence[str] = ()


def in_one_statement(wanted: Iterable[tuple[str, QuerySet[Any]]]) -> list[Any]:
    """What each expression says of its rows, which it names {rows}; None where the rows are none for certain.

    One query, none where there is nothing to ask. The rows are compiled each on their own: to nest them in a QuerySet
    costs more than to ask.
    """
    said: list[Any] = []
    parts: list[str] = []
    params: list[Any] = []
    asked = []
    for expression, rows in wanted:
        said.append(None)
        try:
            sql, its_params = rows.query.sql_with_params()
        except EmptyResultSet:
            continue
        asked.append(len(said) - 1)
        parts.append(f"(SELECT {expression.format(rows=f'({sql}) AS _row')})")
        params += its_params
    if parts:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(parts)}", params)
            for place, value in zip(asked, cursor.fetchone() or (), strict=True):
                said[place] = value
    return said


def together(*wanted: Wanted) -> list[list[Any]]:
    """The rows of each, in its order; one query."""
    plans = [_Plan(each) for each in wanted]
    packed = in_one_statement((plan.expression, plan.rows) for plan in plans)
    return [[plan.row(list(row.values())) for row in rows or ()] for plan, rows in zip(plans, packed, strict=True)]


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
            _remember(parent, name, by_parent[parent.pk], wanted[name].rows)
    return found[len(wanted) :]


def _remember(parent: models.Model, name: str, rows: list[Any], all_of_them: QuerySet[Any]) -> None:
    found = getattr(parent, name)._apply_rel_filters(all_of_them)  # as Django's own prefetch narrows them to a parent
    found._result_cache, found._prefetch_done = rows, True
    parent.__dict__.setdefault("_prefetched_objects_cache", {})[name] = found


class _Plan:
    """How the columns of one list are asked for, and made into its rows again."""

    def __init__(self, wanted: Wanted) -> None:
        model = wanted.rows.model
        self._model, self._fields = model, _fields(model, wanted.columns)
        self._related = [(name, _target(model, name), _fields(_target(model, name))) for name in wanted.related]
        paths = [each.attname for each in self._fields]
        paths += [f"{name}__{each.attname}" for name, _target_of, fields in self._related for each in fields]
        names = ", ".join(f"c{number}" for number in range(len(paths)))
        self.rows = wanted.rows.values_list(*paths)
        self.expression = f"json_agg(_row) FROM {{rows}}({names})"

    def row(self, values: list[Any]) -> Any:
        """The row with those of its foreign keys, of the values of its columns."""
        start = len(self._fields)
        row = _instance(self._model, self._fields, values[:start])
        for name, target, fields in self._related:
            own = values[start : start + len(fields)]
            start += len(fields)
            setattr(row, name, None if own[0] is None else _instance(target, fields, own))
        return row


def _instance(model: type[models.Model], fields: Sequence[Any], values: Sequence[Any]) -> Any:
    told = [each.to_python(value) for each, value in zip(fields, values, strict=True)]
    return model.from_db("default", [each.attname for each in fields], told)


def _fields(model: type[models.Model], columns: Collection[str] = ()) -> list[Any]:
    """The fields with these names (none: all that pages ask for), the primary key before the others."""
    names = columns or ENOUGH.get(model, ())
    found = [each for each in model._meta.concrete_fields if not names or each.primary_key or each.attname in names]
    return sorted(found, key=lambda each: not each.primary_key)


def _target(model: type[models.Model], name: str) -> type[models.Model]:
    target: Any = model._meta.get_field(name).related_model
    return target  # type: ignore[no-any-return]
