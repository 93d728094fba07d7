"""Tokens of the API: hashed, expiring, given for a login and password."""

from django.contrib.auth import authenticate
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from knox.models import get_token_model
from rest_framework import serializers, status
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import AnonRateThrottle
from rest_framework.views import APIView


class LogInThrottle(AnonRateThrottle):
    """Guessing a password takes years; a script that logs in for each call notices."""

    scope = "login"
    rate = "20/min"


class CredentialsIn(serializers.Serializer):
    """A login and its password."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=4096, trim_whitespace=False)


class TokenOut(serializers.Serializer):
    """A token for `Authorization: Token ...`; it is shown once."""

    token = serializers.CharField()
    expiry = serializers.DateTimeField(allow_null=True)


class LogIn(APIView):
    """A token for a login and password."""

    authentication_classes: list[type[BaseAuthentication]] = []
    permission_classes = [AllowAny]
    throttle_classes = [LogInThrottle]

    @extend_schema(request=CredentialsIn, responses=TokenOut, auth=[])
    def post(self, request: Request) -> Response:
        """The token and when it ends."""
        given = CredentialsIn(data=request.data)
        given.is_valid(raise_exception=True)
        person = authenticate(request, **given.validated_data)
        if person is None:
            raise AuthenticationFailed(_("That login and password do not fit, or there were too many tries."))
        row, token = get_token_model().objects.create(person)
        return Response(TokenOut({"token": token, "expiry": row.expiry}).data, status=status.HTTP_200_OK)

    def get_authenticate_header(self, request: Request) -> str:
        """So that a refusal is a 401."""
        return "Token"
