"""Who holds which role now and who stands in for whom, and who works in which project."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from guardian.models import UserObjectPermission
from guardian.shortcuts import get_objects_for_user

from allocations.models import Deputy, Person, Project, Role, RoleHolder
from allocations.queries.look import once_a_look
from allocations.queries.together import Wanted, together


@dataclass(frozen=True)
class Mandate:
    """A role in which a person may sign now: an own one, or that of `deputy_for`, for whom the person stands in."""

    role: Role
    holder: Person
    is_own: bool

    @property
    def deputy_for(self) -> Person | None:
        """The holder in whose place the person signs; None for an own role."""
        return None if self.is_own else self.holder

    @property
    def said(self) -> dict[str, str]:
        """For the trail: whom the person stands in for; empty for an own role."""
        return {} if self.is_own else {"deputy_for": self.holder.username, "deputy_for_name": self.holder.name}


def roles_of(person: Person) -> list[Role]:
    """The roles that the person holds now, in the order in which they were made; none without a live account."""
    return [mandate.role for mandate in mandates_of(person) if mandate.is_own]


def holders_of(roles: Iterable[Role]) -> dict[Role, list[Person]]:
    """Each of the roles -> the people with a live account who hold it now, by login."""
    by_pk = {role.pk: role for role in roles}
    holders: dict[Role, list[Person]] = {role: [] for role in by_pk.values()}
    for row in signers_by_role(tuple(sorted(by_pk)))[0]:
        holders[by_pk[row.role_id]].append(row.person)
    return holders


@once_a_look
def signers_by_role(roles: tuple[int, ...]) -> tuple[list[RoleHolder], list[Deputy]]:
    """Who holds the roles with these keys now, by login, and who stands in there; one query."""
    holders, standing_in = together(*who_signs(roles))
    return holders, standing_in


def who_signs(roles: Collection[int] | QuerySet[Any]) -> list[Wanted]:
    """Holders and deputyships of the roles with these keys, to be asked for together with other rows."""
    held = RoleHolder.objects.filter(role__in=roles, during__contains=timezone.now(), person__is_active=True)
    stands_in = acting(Deputy.objects.filter(role__in=roles))
    return [
        Wanted(held.order_by("person__username"), ("role_id", "person_id"), ("person",)),
        Wanted(stands_in.order_by("pk"), ("role_id", "principal_id", "deputy_id"), ("principal", "deputy")),
    ]


def roles_held_by(people: Collection[Person]) -> dict[int, list[Role]]:
    """Person pk -> the roles held now, in the order in which they were made; one query for any number of people."""
    held: dict[int, list[Role]] = {person.pk: [] for person in people}
    rows = RoleHolder.objects.filter(person__in=held, during__contains=timezone.now()).select_related("role")
    for row in rows.order_by("role"):
        held[row.person_id].append(row.role)
    return held


def people_with(*powers: Role.Power) -> list[Person]:
    """The people with a live account who hold a role of one of the powers now, by login."""
    held = RoleHolder.objects.filter(role__power__in=powers, during__contains=timezone.now())
    return list(Person.objects.filter(pk__in=held.values("person"), is_active=True).order_by("username"))


def mandates_of(person: Person) -> list[Mandate]:
    """The roles in which the person may sign now: own ones first, then those of people for whom it stands in.

    A deputy stands in only for somebody who holds the role and has a live account, and for what is signed: a deputy's
    deputy gains nothing, since only holders are asked for.
    """
    return list(_mandates_of(person)) if person.is_active else []


@once_a_look
def _mandates_of(person: Person) -> tuple[Mandate, ...]:
    now = timezone.now()
    standing_in = Deputy.objects.filter(
        principal=OuterRef("person"), role=OuterRef("role"), deputy=person, during__contains=now
    )
    own_or_stood_in_for = Q(person=person) | Q(Exists(standing_in), role__power=Role.Power.DECIDE)
    rows = RoleHolder.objects.filter(own_or_stood_in_for, during__contains=now, person__is_active=True)
    rows = rows.select_related("role__division", "person").order_by("role", "pk")
    mandates = [Mandate(row.role, row.person, row.person_id == person.pk) for row in rows]
    return tuple(sorted(mandates, key=lambda mandate: not mandate.is_own))


def deputies_of(roles: Iterable[Role]) -> dict[Role, list[Deputy]]:
    """Each of the roles -> the deputyships that give power now; `principal` and `deputy` come with the rows."""
    by_pk = {role.pk: role for role in roles}
    deputies: dict[Role, list[Deputy]] = {role: [] for role in by_pk.values()}
    for row in signers_by_role(tuple(sorted(by_pk)))[1]:
        row.role = by_pk[row.role_id]
        deputies[row.role].append(row)
    return deputies


def acting(rows: QuerySet[Deputy]) -> QuerySet[Deputy]:
    """Those of the deputyships that give power now: in their period, both accounts live, the principal in the role."""
    now = timezone.now()
    held = RoleHolder.objects.filter(role=OuterRef("role"), person=OuterRef("principal"), during__contains=now)
    live = rows.filter(during__contains=now, principal__is_active=True, deputy__is_active=True)
    return live.filter(Exists(held), role__power=Role.Power.DECIDE).select_related("principal", "deputy", "role")


def projects_with(person: Person, permission: str) -> QuerySet[Project]:
    """Projects on which the person has that object permission: view_project, pitch_for_project or lead_project.

    Only what was given to this person counts: being a superuser gives none.
    """
    return _projects_with(person, permission) if person.is_active else Project.objects.none()


@once_a_look
def _projects_with(person: Person, permission: str) -> QuerySet[Project]:
    projects: QuerySet[Project] = get_objects_for_user(
        person, permission, klass=Project, use_groups=False, with_superuser=False, accept_global_perms=False
    )
    return projects


def permissions_on(project: Project, person: Person) -> frozenset[str]:
    """The object permissions that were given to this person on the project; none without a live account."""
    return _permissions_on(project, person) if person.is_active else frozenset()


@once_a_look
def _permissions_on(project: Project, person: Person) -> frozenset[str]:
    rows = UserObjectPermission.objects.filter(
        user=person, object_pk=str(project.pk), content_type=ContentType.objects.get_for_model(Project)
    )
    return frozenset(rows.values_list("permission__codename", flat=True))


def without_signer(roles: Iterable[Role], *, but: Collection[Person] = ()) -> Role | None:
    """A role that nobody is left to sign for when each role needs a person of its own; None when all can be signed.

    `but`: people who may not sign. Roles are tried in the order in which they come.
    """
    return unplaced(holders_of(roles), but=but)


def unplaced(holders: Mapping[Role, Iterable[Person]], *, but: Collection[Person] = ()) -> Role | None:
    """The first role for which no person of its own is left among `holders`, `but` some; None when each has one.

    Deputies are not asked for: whoever signs for a holder uses up that holder, who could sign as well.
    """
    candidates = {role: [p for p in people if p not in but] for role, people in holders.items()}
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
