"""The door by which a node's agent joins: no login, a one-time code instead."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import AnonRateThrottle
from rest_framework.views import APIView
from yarl import URL

from inventory import enrolment


class EnrolThrottle(AnonRateThrottle):
    """A rack behind one address joins within minutes; who guesses codes gets nowhere in any case."""

    scope = "enrol"
    rate = "120/min"


class JoinIn(serializers.Serializer):
    """What an agent says of itself. `host` empty: the address that this request comes from."""

    code = serializers.CharField(max_length=100)
    host = serializers.CharField(max_length=253, allow_blank=True, default="")
    port = serializers.IntegerField(min_value=1, max_value=65_535)
    certificate_sha256 = serializers.RegexField("^[0-9a-f]{64}$")
    token = serializers.RegexField(f"^{enrolment.TOKEN.pattern}$", write_only=True)
    agent = serializers.CharField(max_length=40, allow_blank=True, default="")

    def validate_host(self, host: str) -> str:
        """A host name or an address, and nothing that would lead elsewhere."""
        try:
            named = URL.build(scheme="https", host=host).host if host else ""
        except ValueError:
            named = None
        if named is None or set(host) & set("/@?#\\ ") or not host.isprintable():
            raise serializers.ValidationError(gettext_lazy("This is neither a host name nor an address."))
        return host


class JoinOut(serializers.Serializer):
    """Which node the agent is, and how the portal speaks to it."""

    node = serializers.CharField(source="name")
    address = serializers.CharField()
    mode = serializers.CharField()


class Enrol(APIView):
    """An agent joins."""

    authentication_classes: list[type[BaseAuthentication]] = []
    permission_classes = [AllowAny]
    throttle_classes = [EnrolThrottle]

    @extend_schema(request=JoinIn, responses=JoinOut, auth=[])
    def post(self, request: Request) -> Response:
        """The agent is the node of its code from now on."""
        given = JoinIn(data=request.data)
        given.is_valid(raise_exception=True)
        told: dict[str, Any] = given.validated_data
        newcomer = enrolment.Newcomer(
            address=_address(told["host"] or request.META.get("REMOTE_ADDR", ""), told["port"]),
            certificate_sha256=told["certificate_sha256"],
            token=told["token"],
            agent=told["agent"],
        )
        return Response(JoinOut(enrolment.join(code=told["code"], newcomer=newcomer)).data)


def _address(host: str, port: int) -> str:
    if not host:
        raise serializers.ValidationError({"host": [_("Say under which name or address the agent is reached.")]})
    return str(URL.build(scheme="https", host=host, port=port))
