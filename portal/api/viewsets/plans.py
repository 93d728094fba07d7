"""Plans and moves."""

from typing import Any

from django.db.models import Prefetch, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from allocations import plans, queries
from allocations.models import Move, Plan, PlanStep
from allocations.queries import lanes
from portal.api import filters, serializers
from portal.api.viewsets.base import Nouns


class Plans(Nouns):
    """Plans, newest first; one plan comes with its steps and the target's generation."""

    queryset = Plan.objects.none()
    serializer_class = serializers.PlanOut
    filterset_class = filters.PlanFilter
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    see = "see_trail"

    def get_queryset(self) -> QuerySet[Any]:
        """With how far their moves are; one query."""
        return lanes.plans_with_outcome()

    @extend_schema(responses=serializers.PlanWithStepsOut)
    def retrieve(self, request: Request, id: str) -> Response:  # noqa: A002 - the address's own name for it
        """One plan."""
        return plan_answer(self.get_object(), code=status.HTTP_200_OK)

    @extend_schema(request=serializers.CommitIn, responses=serializers.PlanWithStepsOut)
    @action(detail=True, methods=["post"])
    def commit(self, request: Request, id: str) -> Response:  # noqa: A002
        """The plan holds and its moves begin; 409 where something changed since the generation that you saw."""
        row = plans.commit_plan(plan=self.get_object(), by=request.user, **self.told(serializers.CommitIn))
        return plan_answer(row, code=status.HTTP_200_OK)

    @extend_schema(request=None, responses={201: serializers.PlanWithStepsOut})
    @action(detail=True, methods=["post"])
    def undo(self, request: Request, id: str) -> Response:  # noqa: A002
        """A plan that gives everything back; it moves nothing before it is committed."""
        return plan_answer(plans.propose_undo(plan=self.get_object(), by=request.user))

    @extend_schema(request=None, responses={201: serializers.PlanWithStepsOut})
    @action(detail=False, methods=["post"])
    def propose_repair(self, request: Request) -> Response:
        """A plan that puts drift and failed moves right."""
        return plan_answer(plans.propose_repair(by=request.user))

    @extend_schema(request=None, responses={201: serializers.PlanWithStepsOut})
    @action(detail=False, methods=["post"])
    def propose_adoption(self, request: Request) -> Response:
        """A plan that accepts what nodes show: drifting GPUs are assigned to whoever holds them."""
        return plan_answer(plans.propose_adoption(by=request.user))


class Moves(Nouns):
    """Moves, newest first."""

    queryset = Move.objects.select_related("plan", "gpu__node", "project", "grant")
    serializer_class = serializers.MoveOut
    filterset_class = filters.MoveFilter
    see = "see_trail"


def plan_answer(plan: Plan, *, code: int = status.HTTP_201_CREATED) -> Response:
    """One plan with its steps, as it stands now."""
    steps = PlanStep.objects.select_related("gpu__node", "project")
    row: Any = lanes.plans_with_outcome().prefetch_related(Prefetch("steps", steps)).get(pk=plan.pk)
    row.target_generation = queries.target().generation
    return Response(serializers.PlanWithStepsOut(row).data, status=code)
