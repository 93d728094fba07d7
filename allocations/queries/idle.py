"""GPUs that are held and idle, by grant, and after how long each project is asked about them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from allocations.defaults import IDLE, IdleRow
from allocations.models import Assignment, Grant, IdleCase, IdlePhase, IdlePolicy, Person, Project
from allocations.queries.sight import projects_visible_to
from inventory.activity import Exemption
from inventory.models import Activity

Judged = Activity.State


class Ladder(NamedTuple):
    """After how long idle GPUs are asked about. `of`: whose row says so, None for the shipped defaults."""

    is_on: bool
    warn_after: timedelta
    again_after: timedelta
    desk_after: timedelta
    interactive: timedelta
    of: IdlePolicy | None = None


class IdleUnit(NamedTuple):
    """A GPU that its holder leaves idle, with what its readings showed."""

    gpu: str
    node: str
    since: datetime
    coverage_pct: float
    util_max_pct: float | None
    power_mean_w: float | None


class IdleGrant(NamedTuple):
    """The judged GPUs of a grant: those that are idle, how many are judged at all, and those nothing is known of."""

    grant: Grant
    idle: list[IdleUnit]
    gpus: int
    unknown: int


def ladders(projects: Iterable[Project]) -> dict[int, Ladder]:
    """Project key -> the ladder that holds for it: its own, else its division's, else the lab's, else as shipped."""
    rows = {(row.project_id, row.division_id): row for row in IdlePolicy.objects.select_related("project", "division")}

    def of(project: Project) -> Ladder:
        keys = ((project.pk, None), (None, project.division_id), (None, None))
        row = next((rows[key] for key in keys if key in rows), None)
        return _ladder(row, row) if row else _ladder(IDLE)

    return {project.pk: of(project) for project in projects}


def _ladder(row: IdlePolicy | IdleRow, of: IdlePolicy | None = None) -> Ladder:
    return Ladder(
        getattr(row, "is_on", True),
        timedelta(minutes=row.warn_after_min),
        timedelta(minutes=row.again_after_min),
        timedelta(minutes=row.desk_after_min),
        timedelta(hours=row.interactive_h),
        of,
    )


def idle_grants() -> list[IdleGrant]:
    """The running grants whose project really holds GPUs that are meant to be its own, with what those do.

    What a grant that has ended left behind is ops' to take, and nobody's to keep.
    """
    rows = (
        Assignment.objects.filter(during__endswith=None, gpu__lost_at=None, gpu__retired_at=None)
        .filter(grant__ends_at__gt=timezone.now())
        .filter(gpu__activity__holder=F("project__slug"))
        .select_related("gpu__node", "gpu__activity")
        .order_by("grant_id", "gpu__node__name", "gpu__pci_bus_id", "gpu_id")
    )
    units: dict[int, list[Assignment]] = defaultdict(list)
    for row in rows:
        units[row.grant_id or 0].append(row)
    grants = (
        Grant.objects.filter(pk__in=units).select_related("project__lead", "model", "pitch__pitcher").order_by("pk")
    )
    return [_idle_grant(grant, units[grant.pk]) for grant in grants]


def _idle_grant(grant: Grant, units: list[Assignment]) -> IdleGrant:
    activities = [(row, row.gpu.activity) for row in units]
    idle = [
        IdleUnit(
            row.gpu.uuid or "", row.gpu.node.name, seen.since, seen.coverage_pct, seen.util_max_pct, seen.power_mean_w
        )
        for row, seen in activities
        if seen.state == Judged.HELD_IDLE
    ]
    unknown = sum(seen.state == Judged.UNKNOWN for _row, seen in activities)
    return IdleGrant(grant, idle, len(units), unknown)


def agreed_rest(grants: Iterable[Grant], ladders_of: Mapping[int, Ladder], now: datetime) -> dict[int, list[Exemption]]:
    """Grant key -> the times in which its GPUs may rest: it serves, is a notebook, a phase was declared, it was kept.

    `ladders_of`: by project key.
    """
    grants = list(grants)
    found: dict[int, list[Exemption]] = {}
    phases: dict[int, list[Exemption]] = defaultdict(list)
    for phase in IdlePhase.objects.filter(project__in={grant.project_id for grant in grants}, starts_at__lte=now):
        phases[phase.project_id].append(Exemption("phase", phase.starts_at, phase.ends_at))
    kept = IdleCase.objects.filter(grant__in=grants, kept_at__isnull=False)
    for grant in grants:
        ladder, begins_at = ladders_of[grant.project_id], grant.delivered_at or grant.starts_at
        rests = list(phases[grant.project_id])
        if not ladder.is_on:
            rests.append(Exemption("serving", begins_at, None))
        if grant.gpus == 1:
            rests.append(Exemption("interactive", begins_at, begins_at + ladder.interactive))
        found[grant.pk] = rests
    for case in kept:
        if case.kept_at:
            found[case.grant_id].append(Exemption("phase", case.kept_at, case.kept_until))
    return found


def _with_grants(rows: QuerySet[IdleCase]) -> QuerySet[IdleCase]:
    return rows.select_related(
        "grant__project__lead", "grant__project__division", "grant__model", "grant__pitch__pitcher", "kept_by"
    )


def open_cases() -> QuerySet[IdleCase]:
    """Every case that is not over, with its grant at hand."""
    return _with_grants(IdleCase.objects.filter(state__in=IdleCase.OPEN))


def cases_visible_to(person: Person) -> QuerySet[IdleCase]:
    """Every case, open or over, of the projects that the person sees."""
    return _with_grants(IdleCase.objects.filter(grant__project__in=projects_visible_to(person)))


def cases_to_answer(person: Person) -> QuerySet[IdleCase]:
    """Those that wait for a word of this person: asked, and not kept."""
    theirs = Q(grant__project__lead=person) | Q(grant__pitch__pitcher=person)
    return open_cases().filter(theirs).exclude(state=IdleCase.State.KEPT).order_by("warned_at", "pk")


def low_units() -> QuerySet[Activity]:
    """GPUs that do a little at next to no power: neither idle nor active; evidence for a person, and nothing else."""
    return (
        Activity.objects.filter(state=Judged.LOW, gpu__retired_at=None)
        .exclude(holder="")
        .select_related("gpu__node", "gpu__model")
        .order_by("since", "pk")
    )


def phases_visible_to(person: Person) -> QuerySet[IdlePhase]:
    """Quiet phases that are not over, of the projects that the person sees, by their beginning."""
    rows = IdlePhase.objects.filter(project__in=projects_visible_to(person), ends_at__gt=timezone.now())
    return rows.select_related("project__division", "project__lead", "declared_by")


def phases_of(project: Project, *, now: datetime | None = None) -> QuerySet[IdlePhase]:
    """The project's quiet phases that are not over, by their beginning."""
    return IdlePhase.objects.filter(project=project, ends_at__gt=now or timezone.now()).select_related("declared_by")
