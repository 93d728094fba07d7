"""What the viewsets share: who may look, and how a body becomes arguments."""

from typing import Any

from rest_framework import serializers, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from allocations import rules
from allocations.errors import BadTerms
from allocations.models import Role
from portal.api.serializers.signed import SignIn


class Nouns(viewsets.ReadOnlyModelViewSet):
    """A read-only list and its rows. `see` is the action of `allocations.rules` that a viewer must be allowed."""

    see: str | None = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Nobody gets further who may not look. Raises NotAllowed."""
        super().initial(request, *args, **kwargs)
        if self.see:
            rules.require(request.user, self.see)

    def told(self, form: type[serializers.Serializer]) -> dict[str, Any]:
        """The request's body as values. Raises ValidationError."""
        given = form(data=self.request.data, context=self.get_serializer_context())
        given.is_valid(raise_exception=True)
        return dict(given.validated_data)

    def told_role(self) -> Role | None:
        """The role that the body signs for; None: one that the person holds. Raises ValidationError, BadTerms."""
        slug = self.told(SignIn)["role"]
        return role_of(slug) if slug else None

    def answer(self, pk: int, *, created: bool = False) -> Response:
        """The row as the list shows it, read again."""
        row = self.get_queryset().get(pk=pk)
        code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
        return Response(self.get_serializer(row).data, status=code)


def role_of(slug: str) -> Role:
    """The role of that slug. Raises BadTerms."""
    role = Role.objects.filter(slug=slug).first()
    if role is None:
        raise BadTerms(f"There is no role {slug}.", field="role")
    return role
