"""Nodes with what was declared and what was seen: the list, and what a single page asks."""

from django.db.models import Count, Exists, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from inventory.models import Cordon, Gpu, Node, SurveyFault
from inventory.queries.freshness import fresh_after

# A node page shows the last days' trouble; the trail has the rest.
FAULTS_SHOWN = 20


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
