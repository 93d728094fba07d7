"""The divisions, roles and policies that ship; a lab edits the rows afterwards."""

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from allocations.models import Division, Policy, PolicyRole, Role
from inventory import trail

DIVISIONS = {"research": "Research", "applied": "Applied"}

# Lab-wide from here on: a run that takes a tenth of a large fleet, or its like over a longer time.
LARGE_GPUS = 1_024
LARGE_GPU_HOURS = 1_500_000
ANSWER_WORKING_DAYS = 3  # to a pitch; the team plans its next week with the answer


@dataclass(frozen=True)
class RoleRow:
    """A role as it ships; `division` is a slug, "" for the whole lab."""

    slug: str
    name: str
    power: Role.Power
    division: str = ""


@dataclass(frozen=True)
class PolicyRow:
    """A policy as it ships: from so many GPUs, or so many GPU-hours, on these roles sign, in so many working days."""

    subject: Policy.Subject
    roles: tuple[str, ...]
    division: str = ""
    min_gpus: int = 0
    min_gpu_hours: int | None = None
    due_working_days: int | None = None
    escalates_to: str = ""


@dataclass(frozen=True)
class IdleRow:
    """After how long idle GPUs are asked about as it ships: minutes, and hours for a notebook."""

    warn_after_min: int
    again_after_min: int
    desk_after_min: int
    interactive_h: int


# As clusters do that cancel jobs (60 and 105 minutes for the notices, 120 to act); here a person acts.
IDLE = IdleRow(warn_after_min=60, again_after_min=105, desk_after_min=120, interactive_h=8)
ROLES = (
    RoleRow("chief-scientist", "Chief scientist", Role.Power.DECIDE, "research"),
    RoleRow("research-head", "Research head", Role.Power.DECIDE, "research"),
    RoleRow("ceo-applications", "CEO of applications", Role.Power.DECIDE, "applied"),
    RoleRow("ceo", "CEO", Role.Power.DECIDE),
    RoleRow("ops", "Ops", Role.Power.OPERATE),
    RoleRow("auditor", "Auditor", Role.Power.AUDIT),
    RoleRow("admin", "Admin", Role.Power.ADMINISTER),
)
POLICIES = (
    PolicyRow(
        Policy.Subject.PITCH,
        ("chief-scientist", "research-head"),
        "research",
        due_working_days=ANSWER_WORKING_DAYS,
        escalates_to="ceo",
    ),
    PolicyRow(
        Policy.Subject.PITCH,
        ("ceo-applications",),
        "applied",
        due_working_days=ANSWER_WORKING_DAYS,
        escalates_to="ceo",
    ),
    PolicyRow(  # nobody stands above these two
        Policy.Subject.PITCH,
        ("ceo", "ceo-applications"),
        min_gpus=LARGE_GPUS,
        min_gpu_hours=LARGE_GPU_HOURS,
        due_working_days=ANSWER_WORKING_DAYS,
    ),
    PolicyRow(Policy.Subject.SPLIT, ("ceo", "ceo-applications")),
)


@transaction.atomic
def install(*, by: object = "defaults") -> dict[str, int]:
    """The shipped divisions and roles are there, and the shipped policies if the lab had none at all.

    Touches nothing that exists, so a repeat is harmless. Returns noun -> how many rows were added.
    """
    divisions = [
        Division.objects.create(slug=slug, name=name)
        for slug, name in DIVISIONS.items()
        if not Division.objects.filter(slug=slug).exists()
    ]
    by_slug = {division.slug: division for division in Division.objects.all()}
    roles = [
        Role.objects.create(slug=row.slug, name=row.name, power=row.power, division=by_slug.get(row.division))
        for row in ROLES
        if not Role.objects.filter(slug=row.slug).exists()
    ]
    # A policy has no name to know it again by: where the lab has one, all are the lab's.
    policies = [] if Policy.objects.exists() else [_policy(row, by_slug) for row in POLICIES]
    for noun, rows in (("division", divisions), ("role", roles), ("policy", policies)):
        trail.record_many(f"{noun}.added", [(row, {}) for row in rows], by=by)
    return {"divisions": len(divisions), "roles": len(roles), "policies": len(policies)}


def _policy(row: PolicyRow, divisions: dict[str, Division]) -> Policy:
    policy = Policy.objects.create(
        subject=row.subject,
        division=divisions.get(row.division),
        min_gpus=row.min_gpus,
        min_gpu_hours=row.min_gpu_hours,
        due_working_days=row.due_working_days,
        escalates_to=Role.objects.filter(slug=row.escalates_to).first(),
        during=(timezone.now(), None),
    )
    PolicyRole.objects.bulk_create(PolicyRole(policy=policy, role=Role.objects.get(slug=slug)) for slug in row.roles)
    return policy
