"""Who holds which role now, who works in which project, and who must sign what."""

from collections.abc import Collection, Iterable

from django.db.models import Q, QuerySet
from django.utils import timezone
from guardian.shortcuts import get_objects_for_user

from allocations.models import Division, Person, Policy, Project, Role, RoleHolder

HOURS_A_DAY = 24


def roles_of(person: Person) -> list[Role]:
    """The roles that the person holds now, in the order in which they were made; none without a live account."""
    if not person.is_active:
        return []
    held = RoleHolder.objects.filter(person=person, during__contains=timezone.now())
    return list(Role.objects.filter(pk__in=held.values("role")).select_related("division"))


def holders_of(roles: Iterable[Role]) -> dict[Role, list[Person]]:
    """Each of the roles -> the people with a live account who hold it now, by login."""
    holders: dict[Role, list[Person]] = {role: [] for role in roles}
    rows = RoleHolder.objects.filter(role__in=holders, during__contains=timezone.now(), person__is_active=True)
    for row in rows.select_related("person", "role").order_by("person__username"):
        holders[row.role].append(row.person)
    return holders


def projects_with(person: Person, permission: str) -> QuerySet[Project]:
    """Projects on which the person has that object permission: view_project, pitch_for_project or lead_project.

    Only what was given to this person counts: being a superuser gives none.
    """
    if not person.is_active:
        return Project.objects.none()
    projects: QuerySet[Project] = get_objects_for_user(
        person, permission, klass=Project, use_groups=False, with_superuser=False, accept_global_perms=False
    )
    return projects


def roles_for_pitch(*, division: Division, gpus: int, days: int) -> list[Role]:
    """The roles that policies in force name for a pitch of that size: every row that fits adds its own."""
    large_enough = Q(min_gpus__lte=gpus) | Q(min_gpu_hours__lte=gpus * days * HOURS_A_DAY)
    of_the_division = Q(division=division) | Q(division=None)
    return _named_by(Policy.objects.filter(large_enough, of_the_division, subject=Policy.Subject.PITCH))


def roles_for_split() -> list[Role]:
    """The roles that policies in force name for a split."""
    return _named_by(Policy.objects.filter(subject=Policy.Subject.SPLIT))


def without_signer(roles: Iterable[Role], *, but: Collection[Person] = ()) -> Role | None:
    """A role that nobody is left to sign for when each role needs a person of its own; None when all can be signed.

    `but`: people who may not sign. Roles are tried in the order in which they come.
    """
    candidates = {role: [p for p in people if p not in but] for role, people in holders_of(roles).items()}
    signer_for: dict[Person, Role] = {}

    def place(role: Role, tried: set[Person]) -> bool:
        for person in candidates[role]:
            if person not in tried:
                tried.add(person)
                if person not in signer_for or place(signer_for[person], tried):
                    signer_for[person] = role
                    return True
        return False

    return next((role for role in candidates if not place(role, set())), None)


def _named_by(policies: QuerySet[Policy]) -> list[Role]:
    in_force = policies.filter(during__contains=timezone.now())
    return list(Role.objects.filter(pk__in=in_force.values("named_roles__role")).select_related("division"))
