"""Answers to a pitch over the API: the services that the queue and the page of the pitch call."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from allocations import pitches
from allocations.errors import WrongState
from allocations.models import SignOff
from portal.api import serializers
from portal.api.viewsets.base import role_of


class Answers:
    """Signed, undone, accepted, declined, ranked; for the viewset of pitches."""

    get_object: Any
    told: Any
    answer: Any

    @extend_schema(request=serializers.SignPitchIn, responses=serializers.PitchOut)
    @action(detail=True, methods=["post"])
    def sign(self, request: Request, id: str) -> Response:  # noqa: A002 - the address's own name for it
        """Your answer to the terms of the round that you saw; a past round is refused with 409."""
        row, said = self.get_object(), self.told(serializers.SignPitchIn)
        said["role"] = role_of(said["role"])
        pitches.sign_off(pitch=row, by=request.user, **said)
        return self.answer(row.pk)

    @extend_schema(request=None, responses=serializers.PitchOut)
    @action(detail=True, methods=["post"])
    def undo(self, request: Request, id: str) -> Response:  # noqa: A002
        """Your last answer to it counts no more; within seconds only, later it is refused with 409."""
        row = self.get_object()
        last = SignOff.objects.filter(pitch=row, person=request.user).order_by("-pk").first()
        if last is None:
            raise WrongState("You have given no answer to this pitch.")
        pitches.undo_sign_off(sign_off=last, by=request.user)
        return self.answer(row.pk)

    @extend_schema(request=serializers.AcceptOfferIn, responses=serializers.PitchOut)
    @action(detail=True, methods=["post"])
    def accept(self, request: Request, id: str) -> Response:  # noqa: A002
        """You accept the counter-offer of the round that you saw: it is promised."""
        row, said = self.get_object(), self.told(serializers.AcceptOfferIn)
        pitches.accept_offer(pitch=row, by=request.user, **said)
        return self.answer(row.pk)

    @extend_schema(request=serializers.DeclineOfferIn, responses=serializers.PitchOut)
    @action(detail=True, methods=["post"])
    def decline_offer(self, request: Request, id: str) -> Response:  # noqa: A002
        """You decline the counter-offer: what was asked for is on the table again."""
        row, said = self.get_object(), self.told(serializers.DeclineOfferIn)
        pitches.decline_offer(pitch=row, by=request.user, **said)
        return self.answer(row.pk)

    @extend_schema(request=serializers.RankIn, responses=serializers.PitchOut)
    @action(detail=True, methods=["post"])
    def rank(self, request: Request, id: str) -> Response:  # noqa: A002
        """Its place on the waitlist; the others move."""
        row, said = self.get_object(), self.told(serializers.RankIn)
        pitches.rank_waitlisted(pitch=row, by=request.user, **said)
        return self.answer(row.pk)
