"""Findings, nodes out of use, arrivals, and how polling does."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from inventory import queries as facts
from inventory.advice import advice_for
from inventory.models import Arrival, Finding, GpuModel

LONGEST_REASON = 300  # the column's width
NAMES_MOST = 5_000


class FindingOut(serializers.Serializer):
    """Something wrong with a node (`gpu` null) or a GPU; `ended_at` null while it is so."""

    id = serializers.IntegerField()
    node = serializers.CharField(source="node.name")
    island = serializers.CharField(source="node.island")
    gpu = serializers.SerializerMethodField()
    code = serializers.CharField()
    what = serializers.SerializerMethodField()
    remedy = serializers.SerializerMethodField()
    severity = serializers.ChoiceField(choices=Finding.Severity.choices)
    evidence = serializers.CharField()
    since = serializers.DateTimeField()
    seen_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_gpu(self, row: Finding) -> str | None:
        """The UUID of the GPU."""
        return row.gpu.uuid if row.gpu else None

    def get_what(self, row: Finding) -> str:
        """The fault in a few words."""
        return str(advice_for(row.code, row.evidence).what)

    def get_remedy(self, row: Finding) -> str:
        """What to do about it."""
        return str(advice_for(row.code, row.evidence).remedy)


class WindowOut(serializers.Serializer):
    """Nodes out of use, now or to come, set at once; `places`: islands that are out whole, else nodes."""

    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField()
    nodes = serializers.IntegerField()
    gpus = serializers.IntegerField()
    places = serializers.ListField(child=serializers.CharField())


class WindowIn(serializers.Serializer):
    """Nodes, or whole islands, to be out of use; `since` null: from now on, `until` null: until somebody lifts it."""

    where = serializers.ListField(child=serializers.CharField(max_length=120), min_length=1, max_length=NAMES_MOST)
    reason = serializers.CharField(max_length=LONGEST_REASON)
    since = serializers.DateTimeField(required=False, allow_null=True, default=None)
    until = serializers.DateTimeField(required=False, allow_null=True, default=None)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        """Names become nodes."""
        nodes, unknown = facts.nodes_at(given.pop("where"))
        if unknown:
            said = _("There is no node or island of that name: %(names)s.") % {"names": ", ".join(unknown[:5])}
            raise serializers.ValidationError({"where": [said]})
        return given | {"nodes": nodes}


class LiftWindowIn(serializers.Serializer):
    """What was set at once, by its beginning and its reason."""

    starts_at = serializers.DateTimeField()
    because = serializers.CharField(max_length=LONGEST_REASON, trim_whitespace=False)
    reason = serializers.CharField(max_length=LONGEST_REASON, required=False, default="", allow_blank=True)


class ArrivalOut(serializers.Serializer):
    """GPUs that are to come, or came, or were cancelled."""

    id = serializers.UUIDField(source="public_id")
    model = serializers.CharField(source="model.name")
    gpus = serializers.IntegerField()
    arrives_on = serializers.DateField()
    site = serializers.CharField()
    island = serializers.CharField()
    reason = serializers.CharField()
    announced_at = serializers.DateTimeField()
    arrived_at = serializers.DateTimeField(allow_null=True)
    cancelled_at = serializers.DateTimeField(allow_null=True)
    state = serializers.SerializerMethodField()

    def get_state(self, row: Arrival) -> str:
        """`coming`, `arrived` or `cancelled`."""
        return "arrived" if row.arrived_at else "cancelled" if row.cancelled_at else "coming"


class ArrivalIn(serializers.Serializer):
    """GPUs of a model that count for promises from a day on."""

    model = serializers.SlugRelatedField("name", queryset=GpuModel.objects.all())
    gpus = serializers.IntegerField(min_value=1, max_value=1_000_000)
    arrives_on = serializers.DateField()
    site = serializers.CharField(max_length=60, required=False, default="", allow_blank=True)
    island = serializers.CharField(max_length=80, required=False, default="", allow_blank=True)
    reason = serializers.CharField(max_length=LONGEST_REASON)


class MoveArrivalIn(serializers.Serializer):
    """Another day, and why."""

    arrives_on = serializers.DateField()
    reason = serializers.CharField(max_length=LONGEST_REASON)


class WhyIn(serializers.Serializer):
    """A reason that must be given."""

    reason = serializers.CharField(max_length=LONGEST_REASON)


class PollingOut(serializers.Serializer):
    """How polling does. `kept_pct`: surveys made of those due in the last ten minutes; null where none is due."""

    newest_at = serializers.DateTimeField(source="newest.finished_at", allow_null=True, default=None)
    stands_still = serializers.BooleanField()
    interval_s = serializers.IntegerField()
    nodes = serializers.IntegerField()
    asked = serializers.IntegerField()
    answered = serializers.IntegerField()
    kept_pct = serializers.IntegerField(allow_null=True)
    survey_s = serializers.FloatField(allow_null=True)
    survey_most_s = serializers.FloatField(allow_null=True)
    readings_a_minute = serializers.IntegerField(allow_null=True)
