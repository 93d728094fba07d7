"""Scenarios of the desk: marks that somebody keeps under a name and somebody else opens."""

from typing import Any

from rest_framework import serializers

from allocations.models import Division
from allocations.models.pitches import LONGEST_DAYS
from allocations.scenarios import LONGEST_NAME, LONGEST_NOTE
from inventory.models import GpuModel
from portal.api.serializers.decisions import REACHABLE
from portal.api.serializers.signed import MOST_GPUS

MOST_RANK = 1_000_000  # far more than one desk holds


class _ById(serializers.DictField):
    """Id of a pitch or grant -> what is marked beside it; kept as text, as it is typed."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        """Raises ValidationError where a key is no id."""
        given = super().to_internal_value(data)
        ids = serializers.UUIDField()
        return {str(ids.run_validation(key)): str(value) for key, value in given.items()}


class MarksIn(serializers.Serializer):
    """What is marked at the desk: pitches taken, their ranks and other terms, grants left out, what those keep."""

    taken = serializers.ListField(child=serializers.UUIDField(), required=False, default=list)
    ended = serializers.ListField(child=serializers.UUIDField(), required=False, default=list)
    ranks = _ById(child=serializers.IntegerField(min_value=1, max_value=MOST_RANK), required=False, default=dict)
    gpus = _ById(child=serializers.IntegerField(min_value=1, max_value=MOST_GPUS), required=False, default=dict)
    models = _ById(child=serializers.CharField(max_length=LONGEST_NAME), required=False, default=dict)
    starts = _ById(child=serializers.DateField(validators=REACHABLE), required=False, default=dict)
    days = _ById(child=serializers.IntegerField(min_value=1, max_value=LONGEST_DAYS), required=False, default=dict)
    keeps = _ById(child=serializers.IntegerField(min_value=0, max_value=MOST_GPUS), required=False, default=dict)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Ids as text, as a scenario keeps them."""
        given = super().to_internal_value(data)
        return {**given, **{name: [str(each) for each in given[name]] for name in ("taken", "ended")}}


class ScenarioIn(serializers.Serializer):
    """Marks to keep; one of yours with the same name is replaced."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    note = serializers.CharField(max_length=LONGEST_NOTE, required=False, allow_blank=True, default="")
    division = serializers.SlugRelatedField("slug", queryset=Division.objects.all())
    model = serializers.SlugRelatedField("name", queryset=GpuModel.objects.all())
    marks = MarksIn()


class KeptMarks(serializers.Serializer):
    """The marks as they were kept; of ranks and terms what was typed, as text."""

    taken = serializers.ListField(child=serializers.CharField(), default=list)
    ended = serializers.ListField(child=serializers.CharField(), default=list)
    ranks = serializers.DictField(child=serializers.CharField(), default=dict)
    gpus = serializers.DictField(child=serializers.CharField(), default=dict)
    models = serializers.DictField(child=serializers.CharField(), default=dict)
    starts = serializers.DictField(child=serializers.CharField(), default=dict)
    days = serializers.DictField(child=serializers.CharField(), default=dict)
    keeps = serializers.DictField(child=serializers.CharField(), default=dict)


class ScenarioOut(serializers.Serializer):
    """A scenario that nobody has dropped; `place` is the desk's filter, as its address has it."""

    id = serializers.UUIDField(source="public_id")
    name = serializers.CharField()
    note = serializers.CharField()
    by = serializers.CharField(source="by.username")
    saved_at = serializers.DateTimeField()
    place = serializers.CharField()
    marks = KeptMarks()
