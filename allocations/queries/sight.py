"""Which pitches, grants, projects and splits a person sees."""

from collections.abc import Iterable

from django.db.models import Exists, OuterRef, Q, QuerySet

from allocations.models import Grant, GrantChange, Person, Pitch, PitchRole, Project, Role, SignOff, Split
from allocations.queries.look import once_a_look
from allocations.queries.people import Mandate, mandates_of, projects_with, roles_of
from allocations.queries.signers import by_holder, with_signatures

READS_ALL = {Role.Power.OPERATE, Role.Power.AUDIT}


@once_a_look
def pitches_visible_to(person: Person) -> QuerySet[Pitch]:
    """Own pitches, those of own projects, those that the person decides for, must sign for or was told are overdue.

    Ops, auditors and those who decide for the whole lab see all. A draft is its writer's alone, also one that was
    thrown away. A deputy sees what waits for the principal's role, and what that deputy has signed.
    """
    mandates = mandates_of(person)
    roles = [mandate.role for mandate in mandates if mandate.is_own]
    concerned = Q(role__in=roles) | Q(escalates_to__in=roles, escalated_at__isnull=False)
    asked_to_sign = PitchRole.objects.filter(concerned, pitch=OuterRef("pk"))
    of_others = _in_sight(person, roles, "project__") | Q(Exists(asked_to_sign))
    if len(roles) < len(mandates):
        of_others |= _seen_as_deputy(mandates)
    of_others |= Q(Exists(SignOff.objects.filter(pitch=OuterRef("pk"), person=person, deputy_for__isnull=False)))
    return _shown(Pitch.objects.filter(Q(pitcher=person) | (Q(submitted_at__isnull=False) & of_others)))


def pitches_of(person: Person) -> QuerySet[Pitch]:
    """Own pitches, of which the person sees all."""
    return _shown(Pitch.objects.filter(pitcher=person))


def _shown(rows: QuerySet[Pitch]) -> QuerySet[Pitch]:
    return rows.select_related("project__division", "project__lead", "pitcher", "model", "offered_model", "decided_by")


def grants_visible_to(person: Person) -> QuerySet[Grant]:
    """Grants of the projects that the person sees, and those with a change that the person was asked to sign."""
    mandates = mandates_of(person)
    own = [mandate.role for mandate in mandates if mandate.is_own]
    asked = GrantChange.roles.through.objects.filter(
        grantchange__grant=OuterRef("pk"), role__in={mandate.role for mandate in mandates}
    )
    seen = Grant.objects.filter(_in_sight(person, own, "project__") | Q(Exists(asked)))
    return seen.select_related("project__division", "project__lead", "pitch__pitcher", "model", "issued_by", "ended_by")


def projects_visible_to(person: Person) -> QuerySet[Project]:
    """Own projects and those of the divisions the person decides for; all for ops, auditors and the lab's heads."""
    return Project.objects.filter(_in_sight(person, roles_of(person))).select_related("division", "lead")


def splits_visible() -> QuerySet[Split]:
    """Every split, newest first, with lines and signatures: how the fleet is shared is no secret in the lab."""
    rows = Split.objects.select_related("proposed_by")
    return with_signatures(rows.prefetch_related("lines__division", "lines__model", "weights__model"))


def _seen_as_deputy(mandates: Iterable[Mandate]) -> Q:
    """What waits for a role of those for whom somebody stands in; a pitch of their own does not wait for them."""
    seen = Q(pk__in=[])
    for holder, roles in by_holder(mandate for mandate in mandates if not mandate.is_own):
        asked = PitchRole.objects.filter(pitch=OuterRef("pk"), role__in=roles)
        seen |= Q(Exists(asked), state__in=Pitch.OPEN) & ~Q(pitcher=holder)
    return seen


def _in_sight(person: Person, roles: Iterable[Role], path: str = "") -> Q:
    """Projects at `path` that the person sees by membership or by role."""
    if not person.is_active:
        return Q(pk__in=[])
    deciding = [role for role in roles if role.power == Role.Power.DECIDE]
    if any(role.power in READS_ALL for role in roles) or any(role.division_id is None for role in deciding):
        return ~Q(pk__in=[])  # all; an empty Q would vanish when it is or-ed with another
    divisions = {role.division_id for role in deciding}
    own = projects_with(person, "view_project").values("pk")
    return Q(**{f"{path}division__in": divisions}) | Q(**{f"{path}pk__in": own})
