"""Cordons as acts: what was set at once, for one reason and one time, is one line, however many nodes it covers."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from inventory.models import Cordon, Node


@dataclass(frozen=True, slots=True)
class NodesOut:
    """Nodes out of use from `starts_at` to `ends_at` (None: open). `places`: islands that are out whole, else nodes."""

    starts_at: datetime
    ends_at: datetime | None
    reason: str
    nodes: int
    gpus: int
    places: list[str]

    @property
    def is_now(self) -> bool:
        """Whether it has begun."""
        return self.starts_at <= timezone.now()


def cordons_standing() -> QuerySet[Cordon]:
    """Cordons in force or to come, of nodes in use."""
    ends_later = Q(during__endswith=None) | Q(during__endswith__gt=timezone.now())
    return Cordon.objects.filter(ends_later, node__retired_at=None)


def cordons_of_act(*, starts_at: datetime, reason: str) -> QuerySet[Cordon]:
    """What of one act is in force or to come."""
    return cordons_standing().filter(during__startswith=starts_at, reason=reason)


def nodes_out() -> list[NodesOut]:
    """Each act that is in force or to come, earliest begin first; two queries."""
    rows = cordons_standing().values_list("during", "reason", "node__name", "node__island", "node__expected_gpus")
    acts: dict[tuple[datetime, datetime | None, str], list[tuple[str, str, int]]] = defaultdict(list)
    for during, reason, name, island, gpus in rows.order_by("node__name"):
        acts[during.lower, during.upper, reason].append((name, island, gpus))
    sizes: dict[str, int] = defaultdict(int)
    covered = Exists(cordons_standing().filter(node__island=OuterRef("island")))
    for island in Node.objects.filter(covered, retired_at=None).exclude(island="").values_list("island", flat=True):
        sizes[island] += 1
    return [
        NodesOut(*key, nodes=len(nodes), gpus=sum(gpus for *_place, gpus in nodes), places=_places(nodes, sizes))
        for key, nodes in sorted(acts.items(), key=lambda act: (act[0][0], act[0][2]))
    ]


def _places(nodes: list[tuple[str, str, int]], sizes: dict[str, int]) -> list[str]:
    """An island's name stands for all its nodes where none is missing."""
    by_island: dict[str, list[str]] = defaultdict(list)
    for name, island, _gpus in nodes:
        by_island[island].append(name)
    return [
        place
        for island, names in sorted(by_island.items())
        for place in ([island] if island and len(names) == sizes[island] else names)
    ]
