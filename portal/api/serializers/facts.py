"""Models, nodes, GPUs with their readings, and events."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from allocations.queries.fleet import Doing
from inventory.models import Gpu, Node


class GpuModelOut(serializers.Serializer):
    """A GPU model."""

    name = serializers.CharField()
    memory_mib = serializers.IntegerField(allow_null=True)
    tdp_w = serializers.IntegerField(allow_null=True)
    price_per_gpu_hour = serializers.DecimalField(max_digits=8, decimal_places=2, allow_null=True)


class NodeOut(serializers.Serializer):
    """A node as declared and as seen; the counts are of its GPUs."""

    name = serializers.CharField()
    site = serializers.CharField()
    island = serializers.CharField()
    model = serializers.CharField(source="model.name")
    expected_gpus = serializers.IntegerField()
    seen_gpus = serializers.IntegerField()
    lost_gpus = serializers.IntegerField()
    held_gpus = serializers.IntegerField()
    unknown_gpus = serializers.IntegerField()
    cordoned = serializers.BooleanField()
    joined = serializers.SerializerMethodField()
    mode = serializers.ChoiceField(choices=Node.Mode.choices)
    said_mode = serializers.CharField()
    answered_at = serializers.DateTimeField(allow_null=True)
    silent_since = serializers.DateTimeField(allow_null=True)
    fault = serializers.CharField()

    def get_joined(self, node: Node) -> bool:
        """Whether its agent has joined."""
        return bool(node.token)


class JoinCodeIn(serializers.Serializer):
    """How long the code is good."""

    hours = serializers.IntegerField(min_value=1, max_value=24 * 30, default=24)


class JoinCodeOut(serializers.Serializer):
    """A join code; it is shown once."""

    node = serializers.CharField()
    code = serializers.CharField()
    expires_at = serializers.DateTimeField()


class RevokeIn(serializers.Serializer):
    """Why the node is believed no longer."""

    reason = serializers.CharField(max_length=300)


class IslandModesOut(serializers.Serializer):
    """An island's nodes by wanted mode; `users` and `gpus`: who used GPUs without a right in the last week."""

    island = serializers.CharField()
    nodes = serializers.IntegerField()
    observe = serializers.IntegerField()
    shadow = serializers.IntegerField()
    enforce = serializers.IntegerField()
    otherwise = serializers.IntegerField(help_text="say another mode than the wanted one")
    silent = serializers.IntegerField()
    users = serializers.IntegerField()
    gpus = serializers.IntegerField()


class ModeIn(serializers.Serializer):
    """How far the agents of an island, or of single nodes, are to go, and why."""

    island = serializers.CharField(max_length=80, required=False, allow_blank=True)
    nodes = serializers.ListField(child=serializers.CharField(max_length=120), required=False, max_length=5_000)
    mode = serializers.ChoiceField(choices=Node.Mode.choices)
    reason = serializers.CharField(max_length=300)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        """Either an island or nodes."""
        if ("island" in given) == ("nodes" in given):
            raise serializers.ValidationError(_("Name an island, or nodes."))
        return given


class ModeOut(serializers.Serializer):
    """The nodes for which the mode is new."""

    changed = serializers.ListField(child=serializers.CharField())


class ReadingOut(serializers.Serializer):
    """The newest reading; null is unknown, never zero. `holder`: a project's slug, empty for nobody."""

    requested_at = serializers.DateTimeField()
    holder = serializers.CharField(allow_null=True)
    generation = serializers.IntegerField()
    draining = serializers.BooleanField()
    util_pct = serializers.FloatField(allow_null=True)
    mem_used_mib = serializers.IntegerField(allow_null=True)
    power_w = serializers.FloatField(allow_null=True)
    temperature_c = serializers.FloatField(allow_null=True)
    running = serializers.IntegerField(allow_null=True)


class GpuOut(serializers.Serializer):
    """A GPU that can be assigned. `assigned_to`: who is meant to hold it, empty for nobody."""

    uuid = serializers.CharField(allow_null=True)
    kind = serializers.ChoiceField(choices=Gpu.Kind.choices)
    node = serializers.CharField(source="node.name")
    pci_bus_id = serializers.CharField()
    model = serializers.CharField(source="model.name")
    doing = serializers.ChoiceField(choices=Doing.choices)
    assigned_to = serializers.CharField()
    lost_at = serializers.DateTimeField(allow_null=True)
    reading = serializers.SerializerMethodField()

    @extend_schema_field(ReadingOut(allow_null=True))
    def get_reading(self, gpu: Gpu) -> dict[str, Any] | None:
        """The reading, null where the GPU was never read."""
        reading = getattr(gpu, "reading", None)
        return ReadingOut(reading).data if reading is not None else None


class SealOut(serializers.Serializer):
    """The link of an event in the hash chain."""

    position = serializers.IntegerField()
    digest = serializers.CharField()


class EventOut(serializers.Serializer):
    """One thing that happened; `seal` is null until the sealer came by."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    verb = serializers.CharField()
    subject_kind = serializers.CharField()
    subject_id = serializers.CharField()
    subject_label = serializers.CharField()
    actor = serializers.CharField()
    reason = serializers.CharField()
    facts = serializers.JSONField()
    seal = serializers.SerializerMethodField()

    @extend_schema_field(SealOut(allow_null=True))
    def get_seal(self, event: Any) -> dict[str, Any] | None:
        """The seal, null where there is none yet."""
        seal = getattr(event, "seal", None)
        return SealOut(seal).data if seal is not None else None


class CordonIn(serializers.Serializer):
    """A cordon from now on; `until` null: until somebody lifts it."""

    reason = serializers.CharField(max_length=300)
    until = serializers.DateTimeField(required=False, allow_null=True)
