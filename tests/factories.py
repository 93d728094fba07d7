"""Rows for tests, as plain functions: each writes what it says with values that fit, and nothing else.

They write rows, not through services: a test of a service arranges its world with these and then calls the service.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count

from django.utils import timezone
from guardian.shortcuts import assign_perm

from allocations.models import (
    Assignment,
    Division,
    Grant,
    Holding,
    Membership,
    Person,
    Pitch,
    PitchRole,
    Project,
    ProjectTerms,
    Role,
    RoleHolder,
    SignOff,
    Split,
    SplitLine,
)
from inventory.models import Activity, Cordon, Gpu, GpuModel, Node, Reading

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
_numbers = count(1)


def person(username: str = "", **fields) -> Person:
    """Somebody who can log in by `client.force_login`; no password, since hashing one is slow."""
    username = username or f"person-{next(_numbers)}"
    someone = Person(username=username, **{"email": f"{username}@lab.example", **fields})
    someone.set_unusable_password()
    someone.save()
    return someone


def holder(role: Role | str, username: str = "", *, who: Person | None = None, since=LONG_AGO, until=None) -> Person:
    """Somebody who holds the role; the login is the role's slug unless another is given."""
    role = Role.objects.get(slug=role) if isinstance(role, str) else role
    who = who or person(username or role.slug)
    RoleHolder.objects.create(role=role, person=who, during=(since, until))
    return who


def division(slug: str = "research", **fields) -> Division:
    return Division.objects.get_or_create(slug=slug, defaults={"name": slug.capitalize(), **fields})[0]


def project(
    slug: str = "", *, division: Division | None = None, lead: Person | None = None, members=(), **fields
) -> Project:
    """A project with its memberships and object permissions; the lead is a member."""
    slug = slug or f"project-{next(_numbers)}"
    lead = lead or person(f"lead-of-{slug}")
    row = Project.objects.create(
        slug=slug,
        name=slug.replace("-", " ").capitalize(),
        division=division or _research(),
        lead=lead,
        **fields,
    )
    for someone in [lead, *members]:
        member(row, someone)
    assign_perm("lead_project", lead, row)
    return row


def member(project: Project, someone: Person, *, since=LONG_AGO, until=None) -> Membership:
    for permission in ("view_project", "pitch_for_project"):
        assign_perm(permission, someone, project)
    return Membership.objects.create(project=project, person=someone, during=(since, until))


def terms(project: Project, *, since=LONG_AGO, until=None, signed_by: Person | None = None, **fields) -> ProjectTerms:
    return ProjectTerms.objects.create(
        project=project, during=(since, until), signed_by=signed_by or project.lead, **fields
    )


_research = division  # the functions below have a parameter of that name


def model(name: str = "H100", **fields) -> GpuModel:
    return GpuModel.objects.get_or_create(name=name, defaults={"memory_mib": 81_559, "tdp_w": 700, **fields})[0]


_h100 = model


def node(name: str = "", *, model: GpuModel | None = None, gpus: int = 8, cards: int | None = None, **fields) -> Node:
    """A node with its cards; `cards=0` makes one that no survey has seen yet."""
    name = name or f"node-{next(_numbers):04}"
    model = model or _h100()
    row = Node.objects.create(name=name, model=model, expected_gpus=gpus, **fields)
    Gpu.objects.bulk_create(_card(row, slot=slot) for slot in range(gpus if cards is None else cards))
    return row


def gpu(node: Node, *, slot: int = 0, parent: Gpu | None = None, **fields) -> Gpu:
    """A card in a slot of the node, or a MIG instance of `parent`."""
    row = _card(node, slot=slot, parent=parent, **fields)
    row.save()
    return row


def _card(node: Node, *, slot: int, parent: Gpu | None = None, **fields) -> Gpu:
    number = next(_numbers)
    values = {
        "uuid": f"{'MIG' if parent else 'GPU'}-{number:08x}-0000-0000-0000-000000000000",
        "kind": Gpu.Kind.MIG if parent else Gpu.Kind.GPU,
        "pci_bus_id": parent.pci_bus_id if parent else f"00000000:{slot + 1:02X}:00.0",
        "model": node.model,
        "first_seen_at": LONG_AGO,
    }
    return Gpu(node=node, parent=parent, **{**values, **fields})


def fleet(model: GpuModel | None = None, *, gpus: int, per_node: int = 8, **fields) -> list[Gpu]:
    """At least one node, and exactly `gpus` cards, `per_node` on each but the last."""
    sizes = [min(per_node, gpus - first) for first in range(0, gpus, per_node)]
    nodes = [node(model=model, gpus=size, **fields) for size in sizes]
    return list(Gpu.objects.filter(node__in=nodes).order_by("pk"))


def cordon(node: Node, *, since=LONG_AGO, until=None, reason: str = "fan broken") -> Cordon:
    return Cordon.objects.create(node=node, during=(since, until), reason=reason)


def reading(gpu: Gpu, holder: str | None = "", *, requested_at: datetime | None = None, **fields) -> Reading:
    """The newest reading of the GPU: by default nobody holds it and nothing runs."""
    values = {"boot_id": "boot-1", "sequence": next(_numbers), "util_pct": 0.0, "mem_used_mib": 0, "running": 0}
    return Reading.objects.update_or_create(
        gpu=gpu, defaults={"holder": holder, "requested_at": requested_at or timezone.now(), **values, **fields}
    )[0]


def activity(gpu: Gpu, state: str, *, since: datetime | None = None, **fields) -> Activity:
    """The last judgement of the GPU, made now."""
    values = {"since": since or timezone.now(), "judged_at": timezone.now(), "coverage_pct": 100.0}
    return Activity.objects.update_or_create(gpu=gpu, defaults={"state": state, **values, **fields})[0]


def pitch(project: Project, pitcher: Person | None = None, *, roles=(), gpus: int = 8, **fields) -> Pitch:
    """A draft, unless `state` says otherwise; `roles` (slugs) are the ones that must sign."""
    values = {
        "title": "Train the next one",
        "why": "The last one is too small.",
        "model": fields.pop("model", None) or _h100(),
        "ideal_gpus": gpus,
        "min_gpus": gpus,
        "start_on": timezone.now().date(),
        "days": 14,
    } | fields
    values.setdefault("offered_gpus", values["ideal_gpus"])
    if values.get("state", "draft") not in ("draft", "withdrawn"):
        values.setdefault("submitted_at", timezone.now())
    row = Pitch.objects.create(project=project, pitcher=pitcher or project.lead, **values)
    PitchRole.objects.bulk_create(PitchRole(pitch=row, role=Role.objects.get(slug=slug)) for slug in roles)
    return row


def submitted(project: Project, pitcher: Person | None = None, **fields) -> Pitch:
    """A pitch that waits for Research's two signatures unless `roles` names others."""
    fields.setdefault("roles", ("chief-scientist", "research-head"))
    return pitch(project, pitcher, state=Pitch.State.SUBMITTED, **fields)


def sign_off(pitch: Pitch, who: Person, role: str, **fields) -> SignOff:
    """An approval of what lies on the table, unless `fields` say otherwise."""
    values = {"round": pitch.round, "verdict": "approve", "at": timezone.now(), **pitch.terms._asdict(), **fields}
    return SignOff.objects.create(pitch=pitch, person=who, role=Role.objects.get(slug=role), **values)


def grant(project: Project, *, gpus: int = 8, starts_at=None, ends_at=None, **fields) -> Grant:
    """A promise from now for 14 days, unless other instants are given; of no pitch."""
    starts_at = starts_at or timezone.now()
    values = {
        "model": fields.pop("model", None) or _h100(),
        "ends_at": ends_at or starts_at + timedelta(days=14),
        "issued_by": project.lead,
        "issued_at": timezone.now(),
    }
    return Grant.objects.create(project=project, gpus=gpus, starts_at=starts_at, **{**values, **fields})


def assignment(gpu: Gpu, project: Project, *, grant: Grant | None = None, since=None, until=None, generation: int = 1):
    return Assignment.objects.create(
        gpu=gpu, project=project, grant=grant, generation=generation, during=(since or timezone.now(), until)
    )


def holding(gpu: Gpu, project: Project, *, grant: Grant | None = None, since=None, until=None, generation: int = 1):
    return Holding.objects.create(
        gpu=gpu, project=project, grant=grant, generation=generation, during=(since or timezone.now(), until)
    )


def split(percents=None, *, starts_at=LONG_AGO, by: Person | None = None, **fields) -> Split:
    """A signed split, in force since long ago; model name ("" is the default) -> division slug -> percent."""
    percents = percents or {"": {"research": 60, "applied": 40}}
    values = {"state": Split.State.SIGNED, "proposed_at": starts_at} | fields
    if values["state"] == Split.State.SIGNED:
        values.setdefault("signed_at", starts_at)
    row = Split.objects.create(starts_at=starts_at, proposed_by=by or person(), **values)
    for name, shares in percents.items():
        for slug, percent in shares.items():
            SplitLine.objects.create(
                split=row, division=division(slug), model=model(name) if name else None, percent=Decimal(percent)
            )
    return row
