"""Answers to a pitch: a signer's, the pitcher's to a counter-offer, a rank on a waitlist."""

from rest_framework import serializers

from allocations.models import SignOff
from allocations.models.pitches import LONGEST_DAYS
from inventory.models import GpuModel
from portal.api.serializers.decisions import REACHABLE
from portal.api.serializers.signed import LONGEST_TEXT, MOST_GPUS


class SignPitchIn(serializers.Serializer):
    """An answer for `role` to the terms of `round`; of the terms what is left out is as on the table.

    `rank` is for the waitlist, left out: the last.
    """

    role = serializers.SlugField()
    verdict = serializers.ChoiceField(choices=SignOff.Verdict.choices)
    round = serializers.IntegerField(min_value=1)
    gpus = serializers.IntegerField(min_value=1, max_value=MOST_GPUS, required=False, allow_null=True, default=None)
    model = serializers.SlugRelatedField(
        "name", queryset=GpuModel.objects.all(), required=False, allow_null=True, default=None
    )
    start_on = serializers.DateField(required=False, allow_null=True, default=None, validators=REACHABLE)
    days = serializers.IntegerField(min_value=1, max_value=LONGEST_DAYS, required=False, allow_null=True, default=None)
    rank = serializers.IntegerField(min_value=1, max_value=MOST_GPUS, required=False, allow_null=True, default=None)
    reason = serializers.CharField(max_length=LONGEST_TEXT, required=False, allow_blank=True, default="")


class AcceptOfferIn(serializers.Serializer):
    """Yes to the counter-offer of `round`."""

    round = serializers.IntegerField(min_value=1)


class DeclineOfferIn(AcceptOfferIn):
    """No to the counter-offer of `round`, and why."""

    reason = serializers.CharField(max_length=LONGEST_TEXT, required=False, allow_blank=True, default="")


class RankIn(serializers.Serializer):
    """A place on the waitlist; 1 is the first."""

    rank = serializers.IntegerField(min_value=1, max_value=MOST_GPUS)
