"""What several nouns say alike: the longest text and number, the roles that must sign, the signatures."""

from rest_framework import serializers

LONGEST_TEXT = 4000  # as in the forms
MOST_GPUS = 2**31 - 1  # of the column; what fits is for the service to say


class RolesOut(serializers.Serializer):
    """What several roles sign."""

    roles = serializers.SerializerMethodField()

    def get_roles(self, row: object) -> list[str]:
        """The roles that must sign, as slugs."""
        return [role.slug for role in row.roles.all()]  # type: ignore[attr-defined]


class SignatureOut(serializers.Serializer):
    """A role's signature; `deputy_for` is the login of whom the person stood in for."""

    role = serializers.CharField(source="role.slug")
    person = serializers.CharField(source="person.username")
    deputy_for = serializers.CharField(source="deputy_for.username", allow_null=True, default=None)
    at = serializers.DateTimeField()


class SignIn(serializers.Serializer):
    """A signature; `role` left out: one that you hold and nobody signed for."""

    role = serializers.SlugField(required=False, allow_null=True, default=None)


class ReasonIn(serializers.Serializer):
    """A reason, where one may be given."""

    reason = serializers.CharField(max_length=LONGEST_TEXT, required=False, allow_blank=True, default="")
