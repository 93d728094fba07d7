"""What is wrong, nodes out of use, hardware to come, and polling, over the services that the pages call."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from allocations import rules
from inventory import arrivals, cordons
from inventory import queries as facts
from inventory.models import Arrival, Finding
from inventory.survey import slices_in_turn
from portal.api import filters, serializers
from portal.api.viewsets.base import Nouns


class Findings(Nouns):
    """What is or was wrong with nodes and GPUs, newest first."""

    queryset = Finding.objects.select_related("node", "gpu").order_by("-pk")
    serializer_class = serializers.FindingOut
    filterset_class = filters.FindingFilter
    see = "see_fleet"


class Arrivals(Nouns):
    """Hardware that is to come, newest announcement first."""

    queryset = Arrival.objects.select_related("model").order_by("-pk")
    serializer_class = serializers.ArrivalOut
    filterset_class = filters.ArrivalFilter
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    see = "see_fleet"

    @extend_schema(request=serializers.ArrivalIn, responses={201: serializers.ArrivalOut})
    def create(self, request: Request) -> Response:
        """The GPUs count for promises from their day on, marked as not there yet."""
        rules.require(request.user, "plan_arrivals")
        row = arrivals.announce_arrival(by=request.user, **self.told(serializers.ArrivalIn))
        return self.answer(row.pk, created=True)

    @extend_schema(request=serializers.MoveArrivalIn, responses=serializers.ArrivalOut)
    @action(detail=True, methods=["post"])
    def move(self, request: Request, id: str) -> Response:  # noqa: A002 - the address's own name for it
        """They come on another day."""
        row = self._planned(request)
        arrivals.move_arrival(arrival=row, by=request.user, **self.told(serializers.MoveArrivalIn))
        return self.answer(row.pk)

    @extend_schema(request=serializers.WhyIn, responses=serializers.ArrivalOut)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, id: str) -> Response:  # noqa: A002 - the address's own name for it
        """They will not come."""
        row = self._planned(request)
        arrivals.cancel_arrival(arrival=row, by=request.user, **self.told(serializers.WhyIn))
        return self.answer(row.pk)

    @extend_schema(request=serializers.ReasonIn, responses=serializers.ArrivalOut)
    @action(detail=True, methods=["post"])
    def arrived(self, request: Request, id: str) -> Response:  # noqa: A002 - the address's own name for it
        """They are there: from now on what the nodes show counts."""
        row = self._planned(request)
        arrivals.mark_arrived(arrival=row, by=request.user, **self.told(serializers.ReasonIn))
        return self.answer(row.pk)

    def _planned(self, request: Request) -> Arrival:
        row: Arrival = self.get_object()
        rules.require(request.user, "plan_arrivals", row)
        return row


class Maintenance(APIView):
    """Nodes out of use, now or from a day on."""

    @extend_schema(responses=serializers.WindowOut(many=True))
    def get(self, request: Request) -> Response:
        """Earliest beginning first."""
        rules.require(request.user, "see_fleet")
        return _windows()

    @extend_schema(request=serializers.WindowIn, responses={201: serializers.WindowOut(many=True)})
    def post(self, request: Request) -> Response:
        """Nodes, or whole islands, are out of use in that time; what runs there goes on. All of them or none."""
        rules.require(request.user, "cordon_node")
        given = serializers.WindowIn(data=request.data)
        given.is_valid(raise_exception=True)
        cordons.set_cordons(by=request.user, **given.validated_data)
        return _windows(201)


class LiftMaintenance(APIView):
    """The end of what was set at once."""

    @extend_schema(request=serializers.LiftWindowIn, responses=serializers.WindowOut(many=True))
    def post(self, request: Request) -> Response:
        """The nodes may be used from now on, or will not be kept out of use."""
        rules.require(request.user, "cordon_node")
        given = serializers.LiftWindowIn(data=request.data)
        given.is_valid(raise_exception=True)
        told = given.validated_data
        found = facts.cordons_of_act(starts_at=told["starts_at"], reason=told["because"])
        cordons.lift_cordons(cordons=found, by=request.user, reason=told["reason"])
        return _windows()


class Polling(APIView):
    """How the pollers themselves do."""

    @extend_schema(responses=serializers.PollingOut)
    def get(self, request: Request) -> Response:
        """The last ten minutes."""
        rules.require(request.user, "see_fleet")
        found = facts.polling(slices=len(slices_in_turn(now=timezone.now())))
        return Response(serializers.PollingOut(found).data)


def _windows(status: int = 200) -> Response:
    return Response(serializers.WindowOut(facts.nodes_out(), many=True).data, status=status)
