"""What the decision desk asks: whose budgets a decider sees, which pitches compete for one, what a sitting decided."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from allocations.models import Division, Grant, Person, Pitch, Role, SignOff
from allocations.queries.decisions import pitches_visible_to, queue_of
from inventory.models import Event, GpuModel

# Beside the sign-offs, what a sitting may have changed; the trail alone knows it.
MINUTED = ("split.signed", "grant.ended", "pitch.withdrawn", "project.terms")


def desk_divisions(roles: Iterable[Role]) -> list[Division]:
    """The divisions that the holder of these roles decides for; all for the heads of the lab."""
    deciding = [role for role in roles if role.power == Role.Power.DECIDE]
    divisions = Division.objects.all()
    if not any(role.division_id is None for role in deciding):
        divisions = divisions.filter(pk__in=[role.division_id for role in deciding])
    return list(divisions)


def competing(person: Person, divisions: list[Division]) -> QuerySet[Pitch]:
    """Pitches of those divisions that wait for signatures, of whomever; the longest wait first."""
    rows = pitches_visible_to(person).filter(state=Pitch.State.SUBMITTED, project__division__in=divisions)
    return rows.order_by("submitted_at", "pk")


def waiting_by_budget(pitches: QuerySet[Pitch]) -> dict[tuple[int, int], int]:
    """(division pk, GPU model pk) -> how many of the pitches compete there; budgets nobody asks for are left out."""
    rows = pitches.order_by().values_list("project__division_id", "model_id")
    return {(division, model): count for division, model, count in rows.annotate(count=Count("pk"))}


def turns(person: Person) -> set[int]:
    """The pks of all pitches that the person may sign now."""
    return set(queue_of(person).order_by().values_list("pk", flat=True))


def promised_grants(division: Division, model: GpuModel, *, start: datetime, end: datetime) -> QuerySet[Grant]:
    """The grants that promise something of that budget in [start, end), the largest first."""
    grants = Grant.objects.filter(model=model, project__division=division, starts_at__lt=end, ends_at__gt=start)
    return grants.select_related("project").order_by("-gpus", "pk")


def decided_counts(projects: set[int]) -> dict[int, tuple[int, int]]:
    """Project pk -> how many of its pitches were granted and how many declined."""
    rows = Pitch.objects.filter(project__in=projects).order_by().values_list("project")
    counted = rows.annotate(
        granted=Count("pk", filter=Q(state=Pitch.State.GRANTED)),
        declined=Count("pk", filter=Q(state=Pitch.State.DECLINED)),
    )
    return {project: (granted, declined) for project, granted, declined in counted}


def sitting(person: Person, *, start: datetime, end: datetime) -> QuerySet[SignOff]:
    """The sign-offs of [start, end) under pitches that the person sees, in the order in which they were given."""
    given = SignOff.objects.filter(at__gte=start, at__lt=end, pitch__in=pitches_visible_to(person))
    return given.select_related(
        "person", "role", "deputy_for", "pitch__project__division", "pitch__model", "pitch__pitcher", "pitch__grant"
    ).order_by("at", "pk")


def sitting_events(*, start: datetime, end: datetime) -> QuerySet[Event]:
    """What else was decided in [start, end), from the trail; for those who may read it."""
    return Event.objects.filter(at__gte=start, at__lt=end, verb__in=MINUTED).order_by("at", "pk")
