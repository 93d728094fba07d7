"""Idle GPUs and quiet phases; the actions are the services that the pages call."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from allocations import idle, queries
from allocations.models import IdleCase, IdlePhase
from portal.api import serializers
from portal.api.viewsets.base import Nouns


class IdleCases(Nouns):
    """Idle GPUs of the projects that you see, open and over, newest first."""

    queryset = IdleCase.objects.none()
    serializer_class = serializers.IdleCaseOut
    filter_backends: list[Any] = []
    lookup_field = "public_id"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> QuerySet[Any]:
        """With grant, project and model at hand."""
        return queries.cases_visible_to(self.request.user)

    @extend_schema(request=serializers.KeepIn, responses=serializers.IdleCaseOut)
    @action(detail=True, methods=["post"])
    def keep(self, request: Request, id: str) -> Response:  # noqa: A002 - the address's own name for it
        """Nobody asks about them until then."""
        row = self.get_object()
        return self.answer(idle.keep(case=row, by=request.user, **self.told(serializers.KeepIn)).pk)


class IdlePhases(Nouns):
    """Quiet phases that are not over, of the projects that you see."""

    queryset = IdlePhase.objects.none()
    serializer_class = serializers.IdlePhaseOut
    filter_backends: list[Any] = []
    lookup_field = "public_id"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> QuerySet[Any]:
        """By their beginning."""
        return queries.phases_visible_to(self.request.user)

    @extend_schema(request=serializers.IdlePhaseIn, responses={201: serializers.IdlePhaseOut})
    def create(self, request: Request) -> Response:
        """The project's GPUs may be idle in that time without a question."""
        said = self.told(serializers.IdlePhaseIn)
        if not queries.projects_visible_to(request.user).filter(pk=said["project"].pk).exists():
            raise Http404
        return self.answer(idle.declare_phase(by=request.user, **said).pk, created=True)

    @extend_schema(request=None, responses={204: None})
    def destroy(self, request: Request, id: str) -> Response:  # noqa: A002
        """It is over now, or never was."""
        idle.end_phase(phase=self.get_object(), by=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)
