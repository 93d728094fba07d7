"""What is somebody's: what has to be handed over before the person goes."""

from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from allocations.models import Deputy, Grant, Person, Pitch, Project, Role
from allocations.queries.people import holders_of, roles_of
from allocations.queries.queue import queue_of


@dataclass(frozen=True)
class Theirs:
    """What a person answers for now. `alone`: the roles that nobody else holds; `due`: signatures that wait for it."""

    pitches: list[Pitch]
    leads: list[Project]
    grants: list[Grant]
    roles: list[Role]
    alone: list[Role]
    projects: list[Project]
    deputyships: list[Deputy]
    due: int

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to hand over."""
        return not (self.pitches or self.leads or self.roles or self.deputyships or self.projects)


def theirs(person: Person) -> Theirs:
    """What the person answers for now; a constant number of queries."""
    now = timezone.now()
    pitches = Pitch.objects.filter(pitcher=person, state__in=[Pitch.State.DRAFT, *Pitch.OPEN])
    leads = list(Project.objects.filter(lead=person).exclude(state=Project.State.ENDED).select_related("division"))
    member = Project.objects.filter(memberships__person=person, memberships__during__contains=now)
    roles = roles_of(person)
    holders = holders_of(roles)
    deputyships = Deputy.objects.filter(Q(principal=person) | Q(deputy=person), during__endswith__gt=now)
    return Theirs(
        pitches=list(pitches.select_related("project", "model").order_by("-pk")),
        leads=leads,
        grants=list(Grant.objects.filter(project__in=leads, ends_at__gt=now).select_related("project", "model")),
        roles=roles,
        alone=[role for role in roles if holders[role] == [person]],
        projects=list(member.select_related("lead").distinct()),
        deputyships=list(deputyships.select_related("principal", "deputy", "role").order_by("pk")),
        due=queue_of(person).count(),
    )
