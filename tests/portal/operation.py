"""A world in which there is something to operate: a need, donors, a plan, nodes."""

from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from allocations import plans
from allocations.models import Grant, Plan, Project
from inventory.models import Node
from tests import factories
from tests.people import Lab

BUSY = {"util_pct": 80.0, "running": 2, "power_w": 500.0}


@dataclass(frozen=True)
class World:
    """`need` lacks 8 GPUs; 8 are free, 4 of `ended` are over; `plan` is proposed for the need."""

    need: Grant
    ended: Project
    node: Node
    plan: Plan


def world(lab: Lab) -> World:
    """As described, with fresh readings."""
    now = timezone.now()
    node = factories.node("gpu-1.lab", island="pod-1", address="https://gpu-1.lab:9100", answered_at=now)
    for gpu in node.gpus.all():
        factories.reading(gpu, "")
    ended = factories.project("old-one", division=lab.research, state="ended", ended_at=now - timedelta(days=1))
    for gpu in factories.node("gpu-2.lab", gpus=4, answered_at=now).gpus.all():
        factories.assignment(gpu, ended, since=now - timedelta(days=9))
        factories.reading(gpu, ended.slug, **BUSY)
    need = factories.grant(lab.project, gpus=8, starts_at=now - timedelta(hours=10))
    return World(need, ended, node, plans.propose_plan(grant=need, by=lab.ops))
