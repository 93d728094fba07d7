"""Declared conflicts of interest."""

from rest_framework import serializers

from allocations.models import Person, Project

LONGEST_TEXT = 4000  # as in the forms


class ConflictOut(serializers.Serializer):
    """Somebody who signs nothing of a project while it lasts; `until` is null where it has no end yet."""

    id = serializers.UUIDField(source="public_id")
    person = serializers.CharField(source="person.username")
    project = serializers.CharField(source="project.slug")
    since = serializers.DateTimeField(source="during.lower")
    until = serializers.DateTimeField(source="during.upper", allow_null=True)
    reason = serializers.CharField()
    declared_by = serializers.CharField(source="declared_by.username")


class ConflictIn(serializers.Serializer):
    """A conflict that holds at once; `person` left out: your own."""

    person = serializers.SlugRelatedField("username", queryset=Person.objects.all(), required=False, default=None)
    project = serializers.SlugRelatedField("slug", queryset=Project.objects.all())
    until = serializers.DateTimeField(required=False, allow_null=True, default=None)
    reason = serializers.CharField(max_length=LONGEST_TEXT)
