"""The Unix ids that go with an order, and the GPUs whose nodes have not heard the newest list."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from django.db.models import F, FilteredRelation, Q

from allocations.models import ProjectAccess
from inventory import queries as facts
from inventory.models import Gpu, Node

# The label by which a node names the list of users that it shares with others.
REALM = "realm"


class Access(NamedTuple):
    """Those who may open a project's GPUs on one node, and the revision of that list; 0: nobody has an account."""

    unix_ids: tuple[int, ...] = ()
    revision: int = 0


class Untold(NamedTuple):
    """A GPU that its holder's newest list has not reached."""

    gpu: Gpu
    holder: str
    generation: int
    access: Access


def realm_of(node: Node) -> str:
    """The realm that the node names, "" for none."""
    return str(node.labels.get(REALM, ""))


def access_of(projects: Iterable[int]) -> dict[tuple[int, str], Access]:
    """(project key, realm) -> who may open its GPUs there, for the projects of these keys."""
    rows = ProjectAccess.objects.filter(project__in=set(projects)).values_list(
        "project_id", "realm", "unix_ids", "revision"
    )
    return {(project, realm): Access(tuple(ids), revision) for project, realm, ids, revision in rows}


def untold_units(*, now: datetime) -> list[Untold]:
    """Units that their holder has in hand, by a fresh reading of a node that answers, with an older list of ids."""
    rows = (
        facts.units()
        .filter(lost_at=None, node__silent_since=None, reading__requested_at__gte=facts.fresh_after(now))
        .exclude(reading__holder="")
        .annotate(assignment=FilteredRelation("assignments", condition=Q(assignments__during__endswith__isnull=True)))
        .filter(assignment__project__slug=F("reading__holder"), reading__draining=False)
        .filter(assignment__project__access__revision__gt=F("reading__access_revision"))
        .annotate(project_id=F("assignment__project_id"))
        .select_related("node", "reading")
        .order_by("pk")
        .distinct()
    )
    units = list(rows)
    lists = access_of(unit.project_id for unit in units)
    found = [
        Untold(unit, unit.reading.holder or "", unit.reading.generation, lists.get((unit.project_id, realm), Access()))
        for unit in units
        for realm in [realm_of(unit.node)]
    ]
    return [each for each in found if each.access.revision > each.gpu.reading.access_revision]
