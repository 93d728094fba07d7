"""GPU models, nodes with their cordons, GPUs, and the trail."""

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from allocations import rules
from allocations.queries import fleet
from inventory import cordons, enrolment, modes
from inventory import queries as facts
from inventory.models import Event, GpuModel, Node
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

    @extend_schema(request=serializers.JoinCodeIn, responses=serializers.JoinCodeOut)
    @action(detail=True, methods=["post"], url_path="join-code")
    def join_code(self, request: Request, name: str) -> Response:
        """A code by which the node's agent joins once; one that was open is good no longer."""
        node = self._enrolled(request)
        hours = self.told(serializers.JoinCodeIn)["hours"]
        row, code = enrolment.make_code(node=node, by=request.user, lives=timedelta(hours=hours))
        told = {"node": node.name, "code": code, "expires_at": row.expires_at}
        return Response(serializers.JoinCodeOut(told).data, status=201, headers={"Cache-Control": "no-store"})

    @extend_schema(request=serializers.ReasonIn, responses=serializers.NodeOut)
    @action(detail=True, methods=["post"], url_path="revoke-code")
    def revoke_code(self, request: Request, name: str) -> Response:
        """The node's open join code is good no longer."""
        node = self._enrolled(request)
        enrolment.revoke_codes(node=node, by=request.user, **self.told(serializers.ReasonIn))
        return self.answer(node.pk)

    @extend_schema(request=None, responses=serializers.NodeOut)
    @action(detail=True, methods=["post"], url_path="renew-token")
    def renew_token(self, request: Request, name: str) -> Response:
        """The node and the portal share a new token."""
        node = self._enrolled(request)
        enrolment.rotate_token(node=node, by=request.user)
        return self.answer(node.pk)

    @extend_schema(request=serializers.RevokeIn, responses=serializers.NodeOut)
    @action(detail=True, methods=["post"])
    def revoke(self, request: Request, name: str) -> Response:
        """The node's agent is asked no longer; the portal has forgotten how."""
        node = self._enrolled(request)
        enrolment.revoke_node(node=node, by=request.user, **self.told(serializers.RevokeIn))
        return self.answer(node.pk)

    def _enrolled(self, request: Request) -> Node:
        node: Node = self.get_object()
        rules.require(request.user, "enrol_node", node)
        return node


class Modes(APIView):
    """How far the agents of each island go."""

    @extend_schema(responses=serializers.IslandModesOut(many=True))
    def get(self, request: Request) -> Response:
        """Islands by name."""
        rules.require(request.user, "see_fleet")
        return Response(serializers.IslandModesOut(facts.island_modes(), many=True).data)

    @extend_schema(request=serializers.ModeIn, responses=serializers.ModeOut)
    def post(self, request: Request) -> Response:
        """How far the agents of an island, or of single nodes, are to go; they are told within a minute."""
        rules.require(request.user, "set_mode")
        given = serializers.ModeIn(data=request.data)
        given.is_valid(raise_exception=True)
        told = given.validated_data
        where = {"island": told["island"]} if "island" in told else {"name__in": told["nodes"]}
        nodes = facts.with_agents().filter(**where)
        changed = modes.set_mode(nodes=nodes, mode=told["mode"], by=request.user, reason=told["reason"])
        return Response({"changed": [node.name for node in changed]})


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
