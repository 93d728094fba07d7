"""Scenarios of the decision desk, for those who decide there; the services are those of the pages."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from allocations import scenarios
from allocations.models import Scenario
from allocations.queries import desk
from portal.api import serializers
from portal.api.viewsets.base import Nouns
from portal.forms.desk import place_of


class Scenarios(Nouns):
    """Marks that somebody prepared at the desk, newest first; they decide nothing."""

    see = "use_desk"
    queryset = Scenario.objects.none()
    serializer_class = serializers.ScenarioOut
    filter_backends: list[Any] = []
    lookup_field = "public_id"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> QuerySet[Any]:
        """Those that nobody has dropped."""
        return desk.scenarios()

    @extend_schema(request=serializers.ScenarioIn, responses={201: serializers.ScenarioOut})
    def create(self, request: Request) -> Response:
        """The marks are kept for everybody at the desk; one of yours with that name is replaced."""
        said = self.told(serializers.ScenarioIn)
        place = place_of({"division": said.pop("division").slug, "model": said.pop("model").name})
        row = scenarios.save_scenario(by=request.user, place=place, **said)
        return self.answer(row.pk, created=True)

    @extend_schema(request=None, responses={204: None})
    def destroy(self, request: Request, id: str) -> Response:  # noqa: A002 - the address's own name for it
        """Nobody sees it any more; its saver drops it."""
        scenarios.drop_scenario(scenario=self.get_object(), by=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)
