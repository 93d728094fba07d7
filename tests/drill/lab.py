"""The lab of the drill: its people and projects, and asks in proportion to the fleet that it is given."""

from dataclasses import dataclass

from django.contrib.auth.hashers import make_password
from django.utils import timezone

from allocations import projects
from allocations.models import Division, Person, Project, Role, RoleHolder
from inventory.models import GpuModel, Node

PASSWORD = "drill-people-only"
LARGEST_ASK = 256  # the classic: a quarter of a thousand GPUs of the largest model
LARGE_PART = 4  # on a small fleet a quarter of the model instead

ROLES = {
    "admin": "admin",
    "ceo": "ceo",
    "ceo-applications": "ceo-applications",
    "chief-scientist": "chief-scientist",
    "second-chief": "chief-scientist",
    "research-head": "research-head",
    "ops": "ops",
}
STAFF = ["researcher", "old-lead", "new-lead", "product"]
# slug: division, lead, members
PROJECTS = {
    "drill-pretrain": ("research", "researcher", ["chief-scientist"]),
    "drill-old": ("research", "old-lead", []),
    "drill-new": ("research", "new-lead", []),
    "drill-assistant": ("applied", "product", []),
}


@dataclass(frozen=True)
class Scale:
    """The models of the story and how many GPUs each of its pitches asks for."""

    large: str  # the model with the most GPUs: one big pitch
    large_gpus: int
    scarce: str  # a model that Research and Applied fill to the brim, so that a newcomer needs a donor
    scarce_total: int
    newcomer_gpus: int


def found() -> None:
    """People with roles and projects are there; the first admin by hand, all else by that admin."""
    hashed = make_password(PASSWORD)
    people = [
        Person(username=login, first_name=login.title(), email=f"{login}@lab.example", password=hashed)
        for login in [*ROLES, *STAFF]
    ]
    by_login = {person.username: person for person in Person.objects.bulk_create(people)}
    admin = by_login["admin"]
    RoleHolder.objects.create(role=Role.objects.get(slug="admin"), person=admin, during=(timezone.now(), None))
    for login, role in ROLES.items():
        if login != "admin":
            projects.give_role(role=Role.objects.get(slug=role), person=by_login[login], by=admin)
    for slug, (division, lead, members) in PROJECTS.items():
        project: Project = projects.create_project(
            slug=slug, name=slug, division=Division.objects.get(slug=division), lead=by_login[lead], by=admin
        )
        for member in members:
            projects.add_member(project=project, person=by_login[member], by=admin)


def scale_of_fleet() -> Scale:
    """The story's numbers for the declared fleet. Raises ValueError where a fleet is too small for the story."""
    gpus = {model.name: sum(model.nodes.values_list("expected_gpus", flat=True)) for model in GpuModel.objects.all()}
    whole = dict(Node.objects.filter(expected_gpus=8).values_list("model__name", "pk"))
    fitting = sorted((name for name in gpus if name in whole), key=lambda name: -gpus[name])
    if len(fitting) < 2 or gpus[fitting[1]] < 64:
        raise ValueError("the drill needs two models with nodes of 8 GPUs, and at least 64 GPUs of the second")
    large, scarce = fitting[:2]
    large_gpus = min(LARGEST_ASK, gpus[large] // LARGE_PART // 8 * 8)
    return Scale(large, large_gpus, scarce, gpus[scarce], min(64, gpus[scarce] // 4 // 8 * 8))
