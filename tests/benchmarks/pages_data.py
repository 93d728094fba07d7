"""A lab of the size that the pages are measured with: its people, projects, fleet and split, written set-wise.

1,000 people, 1,000 projects in two divisions, five members each, and 6,216 GPUs of three models.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.utils import timezone
from guardian.models import UserObjectPermission

from allocations import defaults
from allocations.models import (
    Division,
    Membership,
    Person,
    Pitch,
    Project,
    ProjectTerms,
    Role,
    RoleHolder,
    Split,
    SplitLine,
)
from inventory.models import Cordon, Gpu, GpuModel, Node, Survey

NOW = timezone.now()
LONG_AGO = datetime(2024, 1, 1, tzinfo=UTC)
PEOPLE = PROJECTS = 1_000
MEMBERS = 5  # of a project; everybody works in as many
MODELS = {"NVIDIA H100 80GB": 466, "NVIDIA A100 80GB": 194, "NVIDIA L40S": 117}  # model -> nodes
GPUS_PER_NODE, ISLAND_NODES = 8, 64
BATCH = 2_000  # rows of one statement
CORDONED_EVERY = 50  # nodes
DAY = timedelta(days=1)


@dataclass
class Lab:
    """Whom the pages are asked by: a person for each role (by slug), and a lead who is a member elsewhere, too."""

    roles: dict[str, Person]
    lead: Person
    projects: list[Project]
    gpus: dict[GpuModel, list[Gpu]]
    waiting: list[Pitch] = field(default_factory=list)


def fill() -> Lab:
    """The lab is there; nothing is asked for, promised or held yet."""
    defaults.install(by="bench")
    roles, projects = _people_and_projects()
    lab = Lab(roles=roles, lead=projects[0].lead, projects=projects, gpus=_fleet())
    _split(next(iter(lab.gpus)), by=roles["ceo"])
    return lab


def _people_and_projects() -> tuple[dict[str, Person], list[Project]]:
    people = Person.objects.bulk_create(
        Person(username=f"person-{n:04}", first_name="Ada", last_name=f"Number {n}", email=f"p{n}@lab.example")
        for n in range(PEOPLE)
    )
    roles = {role.slug: person for role, person in zip(Role.objects.order_by("pk"), people, strict=False)}
    RoleHolder.objects.bulk_create(
        RoleHolder(role=role, person=roles[role.slug], during=(LONG_AGO, None)) for role in Role.objects.all()
    )
    staff = people[len(roles) :]
    research, applied = Division.objects.get(slug="research"), Division.objects.get(slug="applied")
    projects = Project.objects.bulk_create(
        Project(
            slug=f"project-{n:04}",
            name=f"Project {n:04}",
            division=research if n % 5 < 3 else applied,
            lead=staff[n % len(staff)],
            **_state_of_project(n),
        )
        for n in range(PROJECTS)
    )
    members = [
        (project, staff[(n + 37 * step) % len(staff)]) for n, project in enumerate(projects) for step in range(MEMBERS)
    ]
    Membership.objects.bulk_create(Membership(project=p, person=who, during=(LONG_AGO, None)) for p, who in members)
    kind = ContentType.objects.get_for_model(Project)
    permission = {row.codename: row for row in Permission.objects.filter(content_type=kind)}
    given = [(p, who, name) for p, who in members for name in ("view_project", "pitch_for_project")]
    given += [(project, project.lead, "lead_project") for project in projects]
    UserObjectPermission.objects.bulk_create(
        UserObjectPermission(content_type=kind, object_pk=str(p.pk), user=who, permission=permission[name])
        for p, who, name in given
    )
    ProjectTerms.objects.bulk_create(
        ProjectTerms(project=p, during=(LONG_AGO, None), protected=p.pk % 2 == 0, signed_by=roles["chief-scientist"])
        for p in projects[:100]
    )
    return roles, projects


def _state_of_project(number: int) -> dict[str, object]:
    if number % 50 == 7:
        return {"state": Project.State.WINDING_DOWN, "releases_at": NOW + 20 * DAY, "wind_down_reason": "done"}
    if number % 50 == 8:
        return {"state": Project.State.ENDED, "ended_at": NOW - 20 * DAY}
    return {}


def _fleet() -> dict[GpuModel, list[Gpu]]:
    found = {}
    numbers = count(1)
    Survey.objects.bulk_create(
        Survey(started_at=at, finished_at=at, nodes_asked=777, nodes_answered=777, gpus_seen=6_216)
        for at in (NOW - timedelta(seconds=10 * ago) for ago in range(500, 0, -1))
    )
    for name, nodes in MODELS.items():
        model = GpuModel.objects.create(name=name, memory_mib=81_559, tdp_w=700, price_per_gpu_hour=Decimal("2.5"))
        rows = Node.objects.bulk_create(
            Node(
                name=f"n{next(numbers):04}",
                site="north",
                island=f"{name.split()[1].lower()}-{n // ISLAND_NODES}",
                model=model,
                expected_gpus=GPUS_PER_NODE,
                answered_at=NOW,
            )
            for n in range(nodes)
        )
        found[model] = Gpu.objects.bulk_create(
            [
                Gpu(
                    uuid=f"GPU-{node.name}-{slot}",
                    node=node,
                    pci_bus_id=f"00000000:{slot + 1:02X}:00.0",
                    model=model,
                    first_seen_at=LONG_AGO,
                )
                for node in rows
                for slot in range(GPUS_PER_NODE)
            ],
            batch_size=BATCH,
        )
        out = rows[::CORDONED_EVERY]
        Cordon.objects.bulk_create(Cordon(node=node, during=(LONG_AGO, None), reason="fan broken") for node in out)
    return found


def _split(model: GpuModel, *, by: Person) -> None:
    """A split of three years ago and two later ones, the last with lines of its own for the model."""
    for years, percents in ((3, (50, 50)), (2, (55, 45)), (1, (60, 40))):
        at = NOW - years * 365 * DAY
        split = Split.objects.create(
            starts_at=at, state=Split.State.SIGNED, proposed_by=by, proposed_at=at, signed_at=at
        )
        shares = dict(zip(("research", "applied"), percents, strict=True))
        for only in (None, model) if years == 1 else (None,):
            SplitLine.objects.bulk_create(
                SplitLine(split=split, division=Division.objects.get(slug=slug), model=only, percent=percent)
                for slug, percent in shares.items()
            )
