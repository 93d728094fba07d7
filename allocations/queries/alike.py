"""Pitches that look like one that is being written or decided, so that no case is argued twice unknowingly."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.postgres.search import TrigramSimilarity
from django.db.models import Case, OuterRef, Q, Subquery, Value, When

from allocations.models import Person, Pitch, Project, SignOff
from allocations.queries.sight import pitches_visible_to

ALIKE_FROM = 0.3  # of 1: the threshold of PostgreSQL's own `%`, which the index answers; below it words meet by chance
MOST_ALIKE = 5  # as many as are read beside a form
WHY_WEIGHT = 0.25  # reasons are longer and share common words: they order, and never make two pitches alike
SAME_PROJECT_WEIGHT = 0.1  # of two equal titles the own project's is the one meant


@dataclass(frozen=True)
class LookAlike:
    """A pitch whose title is like another one, `likeness` of 1; `declined_because` is "" unless it was declined."""

    pitch: Pitch
    likeness: float
    stands_since: datetime
    declined_because: str


def look_alikes(
    *, title: str, why: str, project: Project | None, person: Person, but: Pitch | None = None
) -> list[LookAlike]:
    """Up to MOST_ALIKE pitches that the person sees with a title like this one, most alike first; one query.

    `why` and `project` only order them; `but` and the pitch that it follows are left out. A draft that was withdrawn
    before others could read it stays its writer's.
    """
    title = title.replace("\x00", "").strip()
    if not title:
        return []
    mine_or_read = Q(pitcher=person) | Q(submitted_at__isnull=False)
    rows = (
        pitches_visible_to(person)
        .filter(mine_or_read, title__trigram_similar=title)
        .exclude(pk__in=[but.pk, but.resubmits_id] if but else [])
        .annotate(likeness=TrigramSimilarity("title", title), order=_order(title, why, project))
        .filter(likeness__gte=ALIKE_FROM)
        .annotate(declined_because=Subquery(_declines().values("reason")[:1]))
        .order_by("-order", "-pk")[:MOST_ALIKE]
    )
    return [_look_alike(row) for row in rows]


def _order(title: str, why: str, project: Project | None) -> Any:
    order: Any = TrigramSimilarity("title", title)
    if why.strip():
        order += Value(WHY_WEIGHT) * TrigramSimilarity("why", why.replace("\x00", ""))
    if project:
        order += Case(When(project=project, then=Value(SAME_PROJECT_WEIGHT)), default=Value(0.0))
    return order


def _declines() -> Any:
    return SignOff.objects.filter(pitch=OuterRef("pk"), verdict=SignOff.Verdict.DECLINE)


def _look_alike(row: Any) -> LookAlike:
    since = row.withdrawn_at or row.decided_at or row.submitted_at or row.created_at
    return LookAlike(row, float(row.likeness), since, row.declined_because or "")
