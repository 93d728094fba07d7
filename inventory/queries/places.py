"""What the nodes in use say of themselves by label; `site` is a column of theirs and counts as one."""

from collections.abc import Collection, Mapping

from django.db.models import QuerySet

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
