"""Declared conflicts of interest over the API: the services that the pages call."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from allocations import queries, recusals, rules
from allocations.models import ConflictOfInterest
from portal.api import serializers
from portal.api.viewsets.base import Nouns


class Conflicts(Nouns):
    """Your conflicts of interest, over ones too; for admins those of anybody; newest first."""

    queryset = ConflictOfInterest.objects.none()
    serializer_class = serializers.ConflictOut
    filter_backends: list[Any] = []
    lookup_field = "public_id"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> QuerySet[Any]:
        """In one query."""
        rows = ConflictOfInterest.objects.select_related("person", "project", "declared_by").order_by("-pk")
        return rows if rules.can(self.request.user, "administer") else rows.filter(person=self.request.user)

    @extend_schema(request=serializers.ConflictIn, responses={201: serializers.ConflictOut})
    def create(self, request: Request) -> Response:
        """Nothing of the project is signed by that person from now on."""
        said = self.told(serializers.ConflictIn)
        whose = said.pop("person") or request.user
        rules.require(request.user, "declare_conflict", whose)
        seen = queries.projects_to_declare(whose, by=request.user)
        if not seen.filter(pk=said["project"].pk).exists():
            raise ValidationError({"project": ["There is no such project that you see."]})
        row = recusals.declare_conflict(person=whose, by=request.user, **said)
        return self.answer(row.pk, created=True)

    @extend_schema(request=serializers.ReasonIn, responses=serializers.ConflictOut)
    @action(detail=True, methods=["post"])
    def end(self, request: Request, id: str) -> Response:  # noqa: A002 - the address's own name for it
        """It is over; those who sign beside are told."""
        row = self.get_object()
        recusals.end_conflict(conflict=row, by=request.user, **self.told(serializers.ReasonIn))
        return self.answer(row.pk)
