"""Tell people once that GPUs which somebody holds or is promised do not work: ops by cause, and each project's lead."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from allocations import queries
from allocations.models import Person, Project, Role
from allocations.notify import Telling, Text, page, tell_many
from inventory import queries as facts
from inventory import trail
from inventory.advice import Advice, advice_for
from inventory.models import Event, Finding

ACTOR = "alarms"
VERB = "trouble.told"
LOCK = 0xA1A6  # advisory lock: one teller at a time, so that nobody hears twice
# A card that comes and goes is one story: the same again within this time is not told anew.
AGAIN_AFTER = timedelta(hours=6)
EVENTS_MOST = 1_000  # of those hours; a fleet with more causes than that has other worries
NODES_NAMED = 3


@dataclass(slots=True)
class Cause:
    """News of one code in one place. `hits`: project slug -> GPUs of its that are touched."""

    code: str
    place: str
    findings: list[Finding] = field(default_factory=list)
    hits: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def advice(self) -> Advice:
        """What it is and what to do about it."""
        return advice_for(self.code, self.findings[0].evidence)

    @property
    def gpus(self) -> int:
        """How many GPUs that somebody holds or is promised are touched."""
        return sum(self.hits.values())


@transaction.atomic
def tell_troubles() -> int:
    """Everything that came out of order on GPUs of somebody has been told, once; how many causes were news.

    May run late, twice or at once.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        if not cursor.fetchone()[0]:
            return 0
    now = timezone.now()
    causes = _causes(_news(now))
    if not causes:
        return 0
    projects = {
        row.slug: row
        for row in Project.objects.filter(slug__in={slug for each in causes for slug in each.hits}).select_related(
            "lead"
        )
    }
    ops = queries.people_with(Role.Power.OPERATE)
    events = trail.record_many(VERB, [_event(each) for each in causes], by=ACTOR)
    tell_many(
        Telling(event, _texts(each, ops, projects), _subject(each)) for event, each in zip(events, causes, strict=True)
    )
    return len(causes)


def _news(now: datetime) -> list[Finding]:
    """Findings out of order that nobody was told of, with `place`; not those of something that was told lately."""
    rows = facts.standing().filter(severity=Finding.Severity.OUT).select_related("node", "gpu").order_by("pk")
    found = list(rows)
    if not found:
        return []
    told = Event.objects.filter(verb=VERB, at__gte=min(now - AGAIN_AFTER, *(row.since for row in found)))
    known: set[int] = set()
    lately: set[int] = set()
    for at, keys in told.order_by("-pk").values_list("at", "facts__findings")[:EVENTS_MOST]:
        known.update(keys)
        lately.update(keys if at >= now - AGAIN_AFTER else ())
    stories = set(Finding.objects.filter(pk__in=lately).values_list("node", "gpu", "code"))
    return [row for row in found if row.pk not in known and (row.node_id, row.gpu_id, row.code) not in stories]


def _causes(news: Sequence[Finding]) -> list[Cause]:
    """The news by cause, as far as it touches a GPU that somebody holds or is promised."""
    if not news:
        return []
    causes: dict[tuple[str, str], Cause] = {}
    by_pk: dict[int, Cause] = {}
    for row in news:
        key = row.code, row.place  # type: ignore[attr-defined]
        cause = causes.setdefault(key, Cause(*key))
        cause.findings.append(row)
        by_pk[row.pk] = cause
    for pk, slug, gpus in queries.hits_of(by_pk):
        by_pk[pk].hits[slug] += gpus
    return [cause for cause in causes.values() if cause.hits]


def _event(cause: Cause) -> tuple[Any, dict[str, Any]]:
    return cause.findings[0].node, {
        "code": cause.code,
        "what": str(cause.advice.what),
        "place": cause.place,
        "gpus": cause.gpus,
        "projects": sorted(cause.hits),
        "findings": [row.pk for row in cause.findings],
    }


def _subject(cause: Cause) -> str:
    count = {"gpus": cause.gpus, "place": cause.place, "what": cause.advice.what}
    return ngettext("%(gpus)s GPU, %(place)s: %(what)s", "%(gpus)s GPUs, %(place)s: %(what)s", cause.gpus) % count


def _texts(cause: Cause, ops: Iterable[Person], projects: dict[str, Project]) -> dict[Person, Text]:
    texts: dict[Person, Text] = {}
    for slug, gpus in sorted(cause.hits.items()):
        if project := projects.get(slug):
            before = texts[project.lead].body + "\n" if project.lead in texts else ""
            texts[project.lead] = Text(before + _for_lead(cause, project, gpus), page("projects", slug))
    return texts | dict.fromkeys(ops, Text(_for_ops(cause, projects), page("health")))


def _for_ops(cause: Cause, projects: dict[str, Project]) -> str:
    held = ", ".join(f"{projects[slug].name if slug in projects else slug} {gpus}" for slug, gpus in cause.hits.items())
    words = {"evidence": cause.findings[0].evidence, "remedy": cause.advice.remedy, "held": held}
    where = _("On %(nodes)s.") % {"nodes": _nodes(cause)}
    return where + " " + _("Evidence: %(evidence)s. Held or promised: %(held)s. What to do: %(remedy)s") % words


def _for_lead(cause: Cause, project: Project, gpus: int) -> str:
    words = {
        "gpus": gpus, "project": project.name, "what": cause.advice.what, "nodes": _nodes(cause),
    }  # fmt: skip
    said = ngettext(
        "%(gpus)s GPU of %(project)s does not work: %(what)s (%(nodes)s). Operations see it too and were told.",
        "%(gpus)s GPUs of %(project)s do not work: %(what)s (%(nodes)s). Operations see it too and were told.",
        gpus,
    )
    return said % words + " " + _("The promise stands; nothing is taken from you.")


def _nodes(cause: Cause) -> str:
    names = sorted({row.node.name for row in cause.findings})
    more = len(names) - NODES_NAMED
    return ", ".join(names[:NODES_NAMED]) + (_(" and %(n)s more") % {"n": more} if more > 0 else "")
