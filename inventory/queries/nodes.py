"""Nodes with what was declared and what was seen: lists, one node, the silent and the incomplete."""

from typing import Any, NamedTuple

from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from django.utils import timezone

from inventory.models import Cordon, Gpu, Node, SurveyFault
from inventory.queries.freshness import fresh_after

# A node page shows the last days' trouble; the trail has the rest.
FAULTS_SHOWN = 20


class NodeCounts(NamedTuple):
    """The fleet in five numbers. `expected_gpus` as declared, `seen_gpus` as nodes showed them last."""

    nodes: int
    silent_nodes: int
    expected_gpus: int
    seen_gpus: int
    lost_gpus: int


def units() -> QuerySet[Gpu]:
    """GPUs that are there to be assigned: not retired, their nodes neither, and no card that is cut into instances."""
    instances = Gpu.objects.filter(parent=OuterRef("pk"), retired_at=None, lost_at=None)
    return Gpu.objects.filter(~Exists(instances), retired_at=None, node__retired_at=None)


def nodes_with_counts() -> QuerySet[Node]:
    """Nodes in use by name, each with `seen_gpus`, `lost_gpus`, `held_gpus`, `unknown_gpus` and `cordoned`.

    `seen_gpus` counts cards the node showed when it answered last; `held_gpus` and `unknown_gpus` count fresh and stale
    readings. One query, however many rows.
    """
    now = timezone.now()
    fresh = Q(reading__requested_at__gte=fresh_after(now), reading__holder__isnull=False)
    here = Gpu.objects.filter(node=OuterRef("pk"), retired_at=None).order_by()
    return (
        Node.objects.filter(retired_at=None)
        .select_related("model")
        .annotate(
            seen_gpus=_count(here.filter(kind=Gpu.Kind.GPU, lost_at=None)),
            lost_gpus=_count(here.filter(kind=Gpu.Kind.GPU, lost_at__isnull=False)),
            held_gpus=_count(here.filter(fresh, lost_at=None).exclude(reading__holder="")),
            unknown_gpus=_count(here.filter(lost_at=None).exclude(fresh)),
            cordoned=Exists(Cordon.objects.filter(node=OuterRef("pk"), during__contains=now)),
        )
    )


def node_counts() -> NodeCounts:
    """The whole fleet in use, added up."""
    counted: QuerySet[Any] = nodes_with_counts()
    totals = counted.aggregate(
        nodes=Count("pk"),
        silent_nodes=Count("pk", filter=Q(silent_since__isnull=False)),
        expected=Coalesce(Sum("expected_gpus"), 0),
        seen=Coalesce(Sum("seen_gpus"), 0),
        lost=Coalesce(Sum("lost_gpus"), 0),
    )
    return NodeCounts(*totals.values())


def silent_nodes() -> QuerySet[Node]:
    """Nodes that are asked and do not answer, the longest silence first."""
    return Node.objects.filter(retired_at=None, silent_since__isnull=False).order_by("silent_since", "pk")


def short_nodes() -> QuerySet[Node]:
    """Nodes that have answered and show fewer cards than declared (8 expected, 7 seen), annotated as a list is."""
    counted: QuerySet[Any] = nodes_with_counts()
    return counted.filter(answered_at__isnull=False, seen_gpus__lt=F("expected_gpus"))


def gpus_of(node: Node) -> QuerySet[Gpu]:
    """The GPUs of one node by slot, retired ones last, with model, reading and `state` as `fleet_tiles` names it."""
    return (
        Gpu.objects.filter(node=node)
        .select_related("model", "reading", "parent")
        .annotate(state=gpu_state())
        .order_by(F("retired_at").desc(nulls_first=True), "pci_bus_id", "pk")
    )


def gpu_state() -> Case:
    """What a GPU is as far as readings tell: retired lost unknown draining free busy idle."""
    fresh = Q(reading__requested_at__gte=fresh_after(timezone.now()), reading__holder__isnull=False)
    return Case(
        When(retired_at__isnull=False, then=Value("retired")),
        When(lost_at__isnull=False, then=Value("lost")),
        When(fresh & Q(reading__draining=True), then=Value("draining")),
        When(fresh & Q(reading__holder=""), then=Value("free")),
        When(fresh & Q(reading__util_pct__gt=0), then=Value("busy")),
        When(fresh & Q(reading__util_pct=0), then=Value("idle")),
        default=Value("unknown"),
        output_field=CharField(),
    )


def recent_faults(node: Node) -> QuerySet[SurveyFault]:
    """When and why the node did not answer, newest first."""
    return SurveyFault.objects.filter(node=node).order_by("-pk")[:FAULTS_SHOWN]


def cordons_now(node: Node) -> QuerySet[Cordon]:
    """The cordon in force on the node, if there is one, and those to come."""
    now = timezone.now()
    return Cordon.objects.filter(Q(during__endswith=None) | Q(during__endswith__gt=now), node=node).order_by("during")


def _count(gpus: QuerySet[Gpu]) -> Coalesce:
    counted = gpus.values("node").annotate(gpus=Count("pk")).values("gpus")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)
