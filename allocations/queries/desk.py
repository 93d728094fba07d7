"""What the decision desk asks: whose budgets a decider sees, which pitches compete for one, what a sitting decided."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from allocations.models import (
    ChangeSignOff,
    Division,
    Grant,
    GrantChange,
    LastLook,
    Opened,
    Person,
    Pitch,
    PitchAlternative,
    PitchRole,
    Recusal,
    Role,
    Scenario,
    SignOff,
)
from allocations.queries.barred import conflicts_wanted, keep_conflicts
from allocations.queries.promises import divisions_of_lab
from allocations.queries.sight import pitches_visible_to
from allocations.queries.together import Wanted, load_together
from inventory.models import Event, GpuModel

Competing = QuerySet[Pitch]
PAGE = "desk"  # as a last look names it

DECIDED = {
    "granted": Count("pk", filter=Q(state=Pitch.State.GRANTED)),
    "declined": Count("pk", filter=Q(state=Pitch.State.DECLINED)),
    "cut": Count("pk", filter=Q(state=Pitch.State.GRANTED, offered_gpus__lt=F("ideal_gpus"))),
}
# Beside the sign-offs, what a sitting may have changed; the trail alone knows it.
MINUTED = ("split.signed", "grant.ended", "pitch.withdrawn", "project.terms")


class Waiting(NamedTuple):
    """What waits in one budget: all of it; since the person's last look what is new, what others signed; overdue."""

    total: int = 0
    new: int = 0
    changed: int = 0
    overdue: int = 0
    looked_at: datetime | None = None


class Past(NamedTuple):
    """How earlier pitches were decided; `cut` of the granted ones got less than they asked for."""

    granted: int = 0
    declined: int = 0
    cut: int = 0


def desk_divisions(roles: Iterable[Role]) -> list[Division]:
    """The divisions that the holder of these roles decides for; all for the heads of the lab."""
    deciding = {role.division_id for role in roles if role.power == Role.Power.DECIDE}
    return [division for division in divisions_of_lab() if None in deciding or division.pk in deciding]


def competing(person: Person, divisions: list[Division]) -> QuerySet[Pitch]:
    """Pitches of those divisions that can be signed, by whomever; the longest wait first.

    Annotated `table_model`, the pk of the GPU model on the table, and `is_opened`: the person had it open as it is.
    """
    rows = pitches_visible_to(person).filter(state__in=Pitch.SIGNABLE, project__division__in=divisions)
    opened = Opened.objects.filter(pitch=OuterRef("pk"), person=person, round=OuterRef("round"))
    rows = rows.annotate(table_model=Coalesce("offered_model", "model"), is_opened=Exists(opened))
    return rows.order_by("submitted_at", "pk")


def with_signatures(pitches: QuerySet[Pitch]) -> list[Pitch]:
    """The pitches with all that says whose turn it is and what else would do, without long texts; two queries."""
    shown = pitches.select_related(None).select_related("project", "pitcher", "model", "offered_model")
    rows = list(shown.defer("why", "expected_result", "if_declined", "findings", "required_labels"))
    [conflicts] = load_together(
        rows,
        [conflicts_wanted({row.project_id for row in rows})],
        needed_roles=Wanted(PitchRole.objects.all(), ["pitch_id", "role_id", "position", "due_at"]),
        sign_offs=Wanted(SignOff.objects.all(), ["pitch_id", "round", "role_id", "person_id", "deputy_for_id"]),
        recusals=Wanted(Recusal.objects.all(), ["pitch_id", "person_id"]),
        alternatives=Wanted(PitchAlternative.objects.all(), ["pitch_id", "model_id", "gpus"]),
    )
    keep_conflicts(rows, conflicts)
    return rows


def waiting_by_budget(person: Person, pitches: QuerySet[Pitch]) -> dict[tuple[int, int], Waiting]:
    """(division pk, GPU model pk) -> what of the pitches competes there; budgets nobody asks for are left out."""
    looked = LastLook.objects.filter(person=person, page=PAGE).values("at")[:1]
    signed = SignOff.objects.filter(pitch=OuterRef("pk"), at__gt=OuterRef("looked_at")).exclude(person=person)
    due = PitchRole.objects.filter(pitch=OuterRef("pk"), due_at__lt=timezone.now())
    given = SignOff.objects.filter(pitch=OuterRef("pitch"), role=OuterRef("role"), round=OuterRef("pitch__round"))
    rows = pitches.order_by().annotate(looked_at=Subquery(looked))
    rows = rows.annotate(is_changed=Exists(signed), is_overdue=Exists(due.exclude(Exists(given))))
    counted = rows.values_list("project__division_id", "table_model", "looked_at").annotate(
        total=Count("pk"),
        new=Count("pk", filter=Q(submitted_at__gt=F("looked_at"))),
        changed=Count("pk", filter=Q(submitted_at__lte=F("looked_at"), is_changed=True)),
        overdue=Count("pk", filter=Q(is_overdue=True)),
    )
    return {
        (division, model): Waiting(total, new, changed, overdue, looked_at)
        for division, model, looked_at, total, new, changed, overdue in counted
    }


def roles_by_pk() -> dict[int, Role]:
    """All roles of the lab."""
    return Role.objects.in_bulk()


def scenarios() -> QuerySet[Scenario]:
    """Saved and not dropped, newest first."""
    return Scenario.objects.filter(dropped_at=None).select_related("by").order_by("-pk")


def newest_scenario(public_id: UUID) -> Scenario | None:
    """The scenario, or what its saver has saved under its name since; None where nobody has one of that name now."""
    row = scenarios().filter(public_id=public_id).first()
    old = None if row else Scenario.objects.filter(public_id=public_id).first()
    return scenarios().filter(by=old.by_id, name=old.name).first() if old else row


def promised_grants(division: Division, model: GpuModel, *, start: datetime, end: datetime) -> QuerySet[Grant]:
    """The grants that promise something of that budget in [start, end), the largest first.

    Annotated `asked_kind` and `asked_gpus` of a smaller grant or an end that waits for signatures, and `asked_roles`:
    the names of the roles that it waits for.
    """
    grants = Grant.objects.filter(model=model, project__division=division, starts_at__lt=end, ends_at__gt=start)
    waits = GrantChange.objects.filter(
        grant=OuterRef("pk"), state=GrantChange.State.ASKED, kind__in=GrantChange.LEAD_IS_HEARD
    )
    first = waits.order_by("pk")[:1]
    grants = grants.annotate(
        asked_kind=Subquery(first.values("kind")),
        asked_gpus=Subquery(first.values("gpus")),
        asked_roles=ArraySubquery(_roles_waited_for().values("name")),
    )
    return grants.select_related("project").order_by("-gpus", "pk")


def _roles_waited_for() -> QuerySet[Role]:
    """The roles that have not signed what is asked for about a grant."""
    asked = {"state": GrantChange.State.ASKED, "kind__in": GrantChange.LEAD_IS_HEARD}
    waits = GrantChange.objects.filter(**asked, grant=OuterRef(OuterRef("pk")), roles=OuterRef("pk"))
    signed = ChangeSignOff.objects.filter(change=OuterRef("pk"), role=OuterRef(OuterRef("pk")))
    return Role.objects.filter(Exists(waits.filter(~Exists(signed)))).order_by("name")


def past_asks(projects: set[int]) -> dict[int, Past]:
    """Project pk -> how its pitches were decided."""
    rows = Pitch.objects.filter(project__in=projects).order_by().values_list("project")
    return {project: Past(*numbers) for project, *numbers in rows.annotate(**DECIDED)}


def sitting(person: Person, *, start: datetime, end: datetime) -> QuerySet[SignOff]:
    """The sign-offs of [start, end) under pitches that the person sees, in the order in which they were given."""
    given = SignOff.objects.filter(at__gte=start, at__lt=end, pitch__in=pitches_visible_to(person))
    return given.select_related(
        "person", "role", "deputy_for", "pitch__project__division", "pitch__model", "pitch__pitcher", "pitch__grant"
    ).order_by("at", "pk")


def sitting_events(*, start: datetime, end: datetime) -> QuerySet[Event]:
    """What else was decided in [start, end), from the trail; for those who may read it."""
    return Event.objects.filter(at__gte=start, at__lt=end, verb__in=MINUTED).order_by("at", "pk")
