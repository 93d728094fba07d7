"""Which pitches, splits, grants and projects a person sees, and what waits for that person's signature."""

from collections.abc import Iterable

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from allocations.models import Grant, Person, Pitch, PitchRole, Project, Role, SignOff, Split, SplitSignature
from allocations.queries.people import projects_with, roles_of

READS_ALL = {Role.Power.OPERATE, Role.Power.AUDIT}


def pitches_visible_to(person: Person) -> QuerySet[Pitch]:
    """Own pitches, those of own projects, those of the divisions that the person decides for or must sign for.

    Ops, auditors and those who decide for the whole lab see all. A draft is its writer's alone.
    """
    roles = roles_of(person)
    asked_to_sign = PitchRole.objects.filter(pitch=OuterRef("pk"), role__in=roles)
    of_others = _in_sight(person, roles, "project__") | Q(Exists(asked_to_sign))
    seen = Pitch.objects.filter(Q(pitcher=person) | (~Q(state=Pitch.State.DRAFT) & of_others))
    return seen.select_related("project__division", "project__lead", "pitcher", "model", "decided_by")


def grants_visible_to(person: Person) -> QuerySet[Grant]:
    """Grants of the projects that the person sees."""
    seen = Grant.objects.filter(_in_sight(person, roles_of(person), "project__"))
    return seen.select_related("project__division", "project__lead", "pitch__pitcher", "model", "issued_by", "ended_by")


def projects_visible_to(person: Person) -> QuerySet[Project]:
    """Own projects and those of the divisions the person decides for; all for ops, auditors and the lab's heads."""
    return Project.objects.filter(_in_sight(person, roles_of(person))).select_related("division", "lead")


def splits_visible() -> QuerySet[Split]:
    """Every split, newest first, with lines and signatures: how the fleet is shared is no secret in the lab."""
    return Split.objects.select_related("proposed_by").prefetch_related(
        "lines__division", "lines__model", "roles", "signatures__role", "signatures__person"
    )


def queue_of(person: Person) -> QuerySet[Pitch]:
    """Pitches that the person may sign now, the longest wait first.

    That is: submitted, somebody else's, with a needed role that the person holds and nobody signed for in this round,
    and the person signed this round in no other role.
    """
    return (
        Pitch.objects.filter(state=Pitch.State.SUBMITTED)
        .exclude(pitcher=person)
        .filter(Exists(_unsigned(OuterRef("pk")).filter(role__in=roles_of(person))))
        .exclude(Exists(SignOff.objects.filter(pitch=OuterRef("pk"), round=OuterRef("round"), person=person)))
        .select_related("project__division", "project__lead", "pitcher", "model")
        .order_by("submitted_at", "pk")
    )


def roles_to_sign(pitch: Pitch, person: Person) -> list[Role]:
    """The roles in which the person may sign the pitch now; empty when it is not the person's turn."""
    held = roles_of(person)
    if not queue_of(person).filter(pk=pitch.pk).exists():
        return []
    unsigned = set(_unsigned(pitch.pk).values_list("role_id", flat=True))
    return [role for role in held if role.pk in unsigned]


def roles_that_wait(pitch: Pitch) -> list[Role]:
    """The needed roles that nobody signed for in this round; empty once the pitch is decided."""
    if pitch.state != Pitch.State.SUBMITTED:
        return []
    return list(Role.objects.filter(pk__in=_unsigned(pitch.pk).values("role")))


def splits_waiting_for(person: Person) -> QuerySet[Split]:
    """Proposed splits that the person may sign now, oldest first."""
    signed = SplitSignature.objects.filter(split=OuterRef("split_id"), role=OuterRef("role_id"))
    named = Split.roles.through.objects.filter(split=OuterRef("pk"), role__in=roles_of(person))
    return (
        splits_visible()
        .filter(Exists(named.exclude(Exists(signed))), state=Split.State.PROPOSED)
        .exclude(Exists(SplitSignature.objects.filter(split=OuterRef("pk"), person=person)))
        .order_by("pk")
    )


def _unsigned(pitch: OuterRef | int) -> QuerySet[PitchRole]:
    needed = PitchRole.objects.filter(pitch=pitch)
    signed = SignOff.objects.filter(pitch=OuterRef("pitch"), role=OuterRef("role"), round=OuterRef("now_round"))
    return needed.annotate(now_round=F("pitch__round")).exclude(Exists(signed))


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
