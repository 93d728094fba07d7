"""GPU models, nodes with their cordons, GPUs, and the trail."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from allocations import rules
from allocations.queries import fleet
from inventory import cordons
from inventory import queries as facts
from inventory.models import Event, GpuModel
from portal.api import filters, serializers
from portal.api.viewsets.base import Nouns

NAME = "[^/]+"  # host names hold dots


class GpuModels(Nouns):
    """The GPU models of the lab."""

    queryset = GpuModel.objects.all()
    serializer_class = serializers.GpuModelOut
    lookup_field = "name"
    lookup_value_regex = NAME
    see = "see_fleet"


class Nodes(Nouns):
    """Nodes in use."""

    serializer_class = serializers.NodeOut
    filterset_class = filters.NodeFilter
    lookup_field = "name"
    lookup_value_regex = NAME
    see = "see_fleet"

    def get_queryset(self) -> QuerySet[Any]:
        """With counts of their GPUs; one query."""
        return facts.nodes_with_counts()

    @extend_schema(request=serializers.CordonIn, responses=serializers.NodeOut)
    @action(detail=True, methods=["post"])
    def cordon(self, request: Request, name: str) -> Response:
        """The node is out of use from now on; what runs there goes on."""
        node = self.get_object()
        rules.require(request.user, "cordon_node", node)
        cordons.set_cordon(node=node, by=request.user, **self.told(serializers.CordonIn))
        return self.answer(node.pk)

    @extend_schema(request=serializers.ReasonIn, responses=serializers.NodeOut)
    @action(detail=True, methods=["post"])
    def uncordon(self, request: Request, name: str) -> Response:
        """The node may be used again."""
        node = self.get_object()
        rules.require(request.user, "cordon_node", node)
        cordons.lift_cordon(node=node, by=request.user, **self.told(serializers.ReasonIn))
        return self.answer(node.pk)


class Gpus(Nouns):
    """GPUs that can be assigned, with their newest reading."""

    serializer_class = serializers.GpuOut
    filterset_class = filters.GpuFilter
    lookup_field = "uuid"
    lookup_value_regex = NAME
    see = "see_fleet"

    def get_queryset(self) -> QuerySet[Any]:
        """Judged as the map shows them; one query."""
        return fleet.fleet_units().select_related("node", "model", "reading")


class Events(Nouns):
    """The trail, newest first."""

    queryset = Event.objects.select_related("seal")
    serializer_class = serializers.EventOut
    filterset_class = filters.EventFilter
    see = "see_trail"
