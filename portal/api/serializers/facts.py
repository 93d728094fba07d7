"""Models, nodes, GPUs with their readings, and events."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from allocations.queries.fleet import Doing
from inventory.models import Gpu


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
    answered_at = serializers.DateTimeField(allow_null=True)
    silent_since = serializers.DateTimeField(allow_null=True)
    fault = serializers.CharField()


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
