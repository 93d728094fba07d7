"""What the nodes in use say of themselves by label; `site` is a column of theirs and counts as one."""

from collections.abc import Collection, Mapping

from django.db.models import Q, QuerySet

from inventory.models import Gpu, GpuModel, Node
from inventory.queries.nodes import units

SITE = "site"


def label_values(labels: Collection[str]) -> dict[str, list[str]]:
    """Each of the labels that some node in use has -> its values, sorted; one query."""
    found: dict[str, set[str]] = {label: set() for label in labels}
    for site, own in Node.objects.filter(retired_at=None).order_by().values_list("site", "labels").distinct():
        for label, values in found.items():
            value = labels_of(site, own).get(label)
            if value:
                values.add(value)
    return {label: sorted(values) for label, values in found.items() if values}


def labels_of(site: str, labels: Mapping[str, object]) -> dict[str, str]:
    """All that a node says of itself, as text; `site` is the one of its column."""
    return {key: str(value) for key, value in labels.items()} | ({SITE: site} if site else {})


def units_with(labels: Mapping[str, str], *, model: GpuModel) -> QuerySet[Gpu]:
    """GPUs of the model, not lost, on nodes that have all the labels."""
    nodes = Node.objects.filter(retired_at=None).order_by().values_list("pk", "site", "labels")
    here = [pk for pk, site, own in nodes if labels.items() <= labels_of(site, own).items()]
    return units().filter(node__in=here, model=model, lost_at=None)


def nodes_at(names: Collection[str]) -> tuple[list[Node], list[str]]:
    """The nodes in use that have one of these names or are on an island of that name, by name; and unknown names."""
    rows = Node.objects.filter(Q(name__in=names) | Q(island__in=[name for name in names if name]), retired_at=None)
    found = list(rows.order_by("name"))
    known = {node.name for node in found} | {node.island for node in found}
    return found, [name for name in names if name not in known]


def islands() -> list[str]:
    """The islands of nodes in use, by name."""
    named = Node.objects.filter(retired_at=None).exclude(island="").order_by("island")
    return list(named.values_list("island", flat=True).distinct())
