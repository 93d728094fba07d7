"""The roster: roles that somebody must hold and nobody does, or soon will; who stands in for whom now and later."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from allocations.models import Deputy, Person, Policy, Role, RoleHolder

ROSTER_LOOKAHEAD = timedelta(days=7)  # long enough to find somebody, short enough that the warning is still news


@dataclass(frozen=True)
class Vacancy:
    """A role without a holder; where `last` still holds it, nobody does from `leaves_at` on."""

    role: Role
    last: Person | None = None
    leaves_at: datetime | None = None


def roles_without_holder() -> list[Vacancy]:
    """Roles that a policy in force names or that move hardware, and that nobody with a live account holds.

    Also those whose last holder leaves within `ROSTER_LOOKAHEAD`. One query; two where there are such roles.
    """
    now = timezone.now()
    later = now + ROSTER_LOOKAHEAD
    named = Policy.objects.filter(during__contains=now, named_roles__role=OuterRef("pk"))
    soon = RoleHolder.objects.filter(person__is_active=True, during__overlap=(now, later))
    own = soon.filter(role=OuterRef("pk"))
    is_held = Q(Exists(own.filter(during__contains=now)))
    stays_held = Q(Exists(own.filter(Q(during__endswith=None) | Q(during__endswith__gt=later))))
    needed = Role.objects.filter(Q(Exists(named)) | Q(power=Role.Power.OPERATE))
    roles = list(needed.exclude(is_held & stays_held))
    if not roles:
        return []
    soon = soon.filter(role__in=roles)
    holders: dict[int, list[RoleHolder]] = {role.pk: [] for role in roles}
    for row in soon.select_related("person").order_by("pk"):
        holders[row.role_id].append(row)
    return [_vacancy(role, holders[role.pk], now) for role in roles]


def _vacancy(role: Role, rows: Iterable[RoleHolder], now: datetime) -> Vacancy:
    present = [row for row in rows if row.during.lower <= now]
    if not present:
        return Vacancy(role)
    last = max(present, key=lambda row: row.during.upper)
    return Vacancy(role, last.person, last.during.upper)


def deputies_now_and_later() -> QuerySet[Deputy]:
    """Deputyships that have not ended, the first to begin first.

    Annotated `gives_power`: both accounts are live and the principal holds the role, at its beginning or now.
    """
    now = timezone.now()
    holds = RoleHolder.objects.filter(role=OuterRef("role"), person=OuterRef("principal"))
    has_role = Q(Exists(holds.filter(Q(during__contains=now) | Q(during__startswith__gt=now))))
    lively = Q(principal__is_active=True, deputy__is_active=True)
    rows = Deputy.objects.filter(during__endswith__gt=now).select_related("principal", "deputy", "role", "set_by")
    return rows.annotate(gives_power=has_role & lively).order_by("during", "pk")


def holders_to_stand_in_for(roles: Iterable[Role] | None) -> QuerySet[RoleHolder]:
    """Who holds one of the roles that sign now, by role; `roles` narrows them, None is all."""
    rows = RoleHolder.objects.filter(during__contains=timezone.now(), person__is_active=True)
    rows = rows.filter(role__power=Role.Power.DECIDE).select_related("person", "role")
    return rows if roles is None else rows.filter(role__in=roles)
