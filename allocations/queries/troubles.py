"""Whom trouble with nodes and GPUs hits: the projects that hold the GPUs, and what their promises lack for it."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, F, FilteredRelation, Q, QuerySet

from allocations.models import Project
from inventory import queries as facts
from inventory.models import Finding, Gpu

CAUSE = ("code", "place")


@dataclass(frozen=True, slots=True)
class Hit:
    """A project whose GPUs are touched: `gpus` of the `promised` ones of its grant; 0 where none promises them."""

    slug: str
    name: str
    grant: UUID | None
    gpus: int
    promised: int

    @property
    def left(self) -> int:
        """How many of the promised ones still work, as far as this cause goes."""
        return max(self.promised - self.gpus, 0)


def hit_by_cause() -> Mapping[facts.Cause, list[Hit]]:
    """Cause -> who is hit by it, most GPUs first; three queries. A GPU is its meant holder's, else the seen one's."""
    found: dict[facts.Cause, list[Hit]] = defaultdict(list)
    whole = facts.standing().filter(gpu=None, severity=Finding.Severity.OUT)
    rows = [*_hit(facts.standing().exclude(gpu=None), "findings", *CAUSE), *_hit(whole, "node__findings", *CAUSE)]
    unmeant = {row["seen"] for row in rows if not row["slug"] and row["seen"]}
    names = dict(Project.objects.filter(slug__in=unmeant).values_list("slug", "name")) if unmeant else {}
    counted: dict[tuple[str, str, str, UUID | None], int] = defaultdict(int)
    promises = {row["grant"]: row["promised"] or 0 for row in rows}
    for row in rows:
        slug = row["slug"] or row["seen"]
        names.setdefault(slug, row["project"] or slug)
        counted[row["by_code"], row["by_place"], slug, row["grant"]] += row["gpus"]
    for (code, place, slug, grant), gpus in counted.items():
        found[code, place].append(Hit(slug, names[slug], grant, gpus, promises[grant]))
    for hits in found.values():
        hits.sort(key=lambda hit: (-hit.gpus, hit.slug))
    return found


def hits_of(findings: Collection[int]) -> list[tuple[int, str, int]]:
    """(finding, slug of who holds or is promised GPUs that it touches, how many), by these keys; two queries."""
    rows = facts.standing().filter(pk__in=findings)
    found = [*_hit(rows.exclude(gpu=None), "findings", "pk"), *_hit(rows.filter(gpu=None), "node__findings", "pk")]
    return [(row["by_pk"], slug, row["gpus"]) for row in found if (slug := row["slug"] or row["seen"])]


def _hit(findings: QuerySet[Any], way: str, *keys: str) -> QuerySet[Any, Any]:
    """One row for each of `keys` and grant. `way`: from a GPU to the findings that touch it."""
    meant = FilteredRelation("assignments", condition=Q(assignments__during__endswith__isnull=True))
    touched = Gpu.objects.filter(**{f"{way}__in": findings.values("pk")}).annotate(meant=meant).order_by()
    columns = {"pk": F(f"{way}__pk"), "code": F(f"{way}__code"), "place": facts.place_of(f"{way}__node__")}
    named = touched.filter(Q(meant__isnull=False) | Q(reading__holder__gt=""))
    counted: QuerySet[Any, Any] = named.values(
        **{f"by_{key}": columns[key] for key in keys},
        slug=F("meant__project__slug"),
        project=F("meant__project__name"),
        grant=F("meant__grant__public_id"),
        promised=F("meant__grant__gpus"),
        seen=F("reading__holder"),
    ).annotate(gpus=Count("pk", distinct=True))
    return counted
