"""Idle GPUs: what was asked, what the readings showed, what was answered; quiet phases of projects."""

from rest_framework import serializers

from allocations.models import IdleCase, Project
from allocations.models.idle import LONGEST_WHY
from portal.api.serializers.signed import LONGEST_TEXT


class EvidenceOut(serializers.Serializer):
    """What the readings of one GPU showed."""

    gpu = serializers.CharField()
    node = serializers.CharField()
    since = serializers.DateTimeField()
    coverage_pct = serializers.FloatField()
    util_max_pct = serializers.FloatField(allow_null=True)
    power_mean_w = serializers.FloatField(allow_null=True)


class IdleCaseOut(serializers.Serializer):
    """Idle GPUs of a grant; nothing is taken by itself."""

    id = serializers.UUIDField(source="public_id")
    grant = serializers.UUIDField(source="grant.public_id")
    project = serializers.SlugField(source="grant.project.slug")
    model = serializers.CharField(source="grant.model.name")
    gpus = serializers.IntegerField()
    state = serializers.ChoiceField(choices=IdleCase.State.choices)
    idle_since = serializers.DateTimeField()
    evidence = EvidenceOut(many=True)
    warned_at = serializers.DateTimeField()
    again_at = serializers.DateTimeField(allow_null=True)
    desk_at = serializers.DateTimeField(allow_null=True)
    kept_by = serializers.CharField(source="kept_by.username", default=None, allow_null=True)
    kept_until = serializers.DateTimeField(allow_null=True)
    kept_reason = serializers.CharField()
    ended_at = serializers.DateTimeField(allow_null=True)
    ended_why = serializers.CharField()


class KeepIn(serializers.Serializer):
    """Keep them, because ..., until ..."""

    reason = serializers.CharField(max_length=LONGEST_TEXT)
    until = serializers.DateTimeField()


class IdlePhaseOut(serializers.Serializer):
    """A time in which a project's GPUs may be quiet."""

    id = serializers.UUIDField(source="public_id")
    project = serializers.SlugField(source="project.slug")
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    reason = serializers.CharField()
    declared_by = serializers.CharField(source="declared_by.username")


class IdlePhaseIn(serializers.Serializer):
    """A quiet phase of a project that you lead."""

    project = serializers.SlugRelatedField("slug", queryset=Project.objects.all())
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    reason = serializers.CharField(max_length=LONGEST_WHY)
