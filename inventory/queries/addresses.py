"""Which nodes are spoken to, and where."""

from collections.abc import Iterable

from django.db.models import QuerySet

from inventory.drivers.base import NodeAddress
from inventory.models import Node


def polled_nodes() -> QuerySet[Node]:
    """Nodes that surveys ask: with an address and not retired."""
    return Node.objects.filter(retired_at=None).exclude(address="")


def address_of(node: Node) -> NodeAddress:
    """Where and how the node is spoken to."""
    return NodeAddress(
        name=node.name,
        address=node.address,
        token=node.token,
        certificate_sha256=node.certificate_sha256,
        driver=node.driver,
    )


def addresses_of(nodes: Iterable[Node]) -> list[NodeAddress]:
    """The addresses of `nodes`, in their order."""
    return [address_of(node) for node in nodes]
