"""Changes of grants, loans, exceptions above the split, terms of projects, what came of grants."""

from rest_framework import serializers

from allocations.models import ChangeSignOff, Division, GrantChange, Loan, Project, ResultCheck, SplitException
from allocations.models.pitches import LONGEST_DAYS
from inventory.models import GpuModel
from portal.api.serializers.signed import LONGEST_TEXT, MOST_GPUS, RolesOut, SignatureOut

PRIORITIES = 100  # on either side of the usual 0


class ChangeSignOffOut(SignatureOut):
    """A role's answer to a change."""

    verdict = serializers.ChoiceField(choices=ChangeSignOff.Verdict.choices)
    reason = serializers.CharField()


class ChangeOut(RolesOut):
    """A change of a running grant: an extension, fewer GPUs, an end, or the ratification of an emergency."""

    id = serializers.UUIDField(source="public_id")
    grant = serializers.UUIDField(source="grant.public_id")
    kind = serializers.ChoiceField(choices=GrantChange.Kind.choices)
    state = serializers.ChoiceField(choices=GrantChange.State.choices)
    days = serializers.IntegerField(allow_null=True)
    gpus = serializers.IntegerField(allow_null=True)
    takes_effect_at = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField()
    asked_by = serializers.CharField(source="asked_by.username")
    asked_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField(allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    lead_answer = serializers.CharField()
    lead_reason = serializers.CharField()
    sign_offs = ChangeSignOffOut(many=True)


class ExtensionIn(serializers.Serializer):
    """More days from the grant's end on."""

    days = serializers.IntegerField(min_value=1, max_value=LONGEST_DAYS)
    reason = serializers.CharField(max_length=LONGEST_TEXT)
    so_far = serializers.CharField(max_length=LONGEST_TEXT, required=False, allow_blank=True, default="")


class ChangeIn(serializers.Serializer):
    """Fewer GPUs (`gpus` left out: an end), from an instant on (left out: from the last signature)."""

    gpus = serializers.IntegerField(min_value=1, max_value=MOST_GPUS, required=False, allow_null=True, default=None)
    takes_effect_at = serializers.DateTimeField(required=False, allow_null=True, default=None)
    reason = serializers.CharField(max_length=LONGEST_TEXT)


class SignChangeIn(serializers.Serializer):
    """An answer; `role` left out: one that you hold and nobody signed for."""

    verdict = serializers.ChoiceField(choices=ChangeSignOff.Verdict.choices)
    role = serializers.SlugField(required=False, allow_null=True, default=None)
    reason = serializers.CharField(max_length=LONGEST_TEXT, required=False, allow_blank=True, default="")


class AnswerChangeIn(serializers.Serializer):
    """What the project's lead says to a smaller grant or an end."""

    answer = serializers.ChoiceField(choices=GrantChange.LeadAnswer.choices)
    reason = serializers.CharField(max_length=LONGEST_TEXT, required=False, allow_blank=True, default="")


class ResultIn(serializers.Serializer):
    """What came of a grant."""

    outcome = serializers.ChoiceField(choices=ResultCheck.Outcome.choices)
    said = serializers.CharField(max_length=LONGEST_TEXT)


class LoanOut(RolesOut):
    """A loan; `grant` is what the borrower holds it by once it is agreed.

    One that `renews` another has `roles` that sign it beside the lender's lead, in any order.
    """

    id = serializers.UUIDField(source="public_id")
    lender = serializers.CharField(source="lender.slug")
    borrower = serializers.CharField(source="borrower.slug")
    model = serializers.CharField(source="model.name")
    gpus = serializers.IntegerField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    daily_from = serializers.TimeField(allow_null=True)
    daily_until = serializers.TimeField(allow_null=True)
    reason = serializers.CharField()
    state = serializers.ChoiceField(choices=Loan.State.choices)
    proposed_by = serializers.CharField(source="proposed_by.username")
    renews = serializers.UUIDField(source="renews.public_id", allow_null=True, default=None)
    signatures = SignatureOut(many=True)
    answered_by = serializers.CharField(source="answered_by.username", allow_null=True, default=None)
    answered_at = serializers.DateTimeField(allow_null=True)
    answer_reason = serializers.CharField()
    grant = serializers.UUIDField(source="grant.public_id", allow_null=True, default=None)
    returned_at = serializers.DateTimeField(allow_null=True)


class LoanIn(serializers.Serializer):
    """A loan that then waits for the lender's lead; the hours, by the site's clock, for a nightly one only."""

    lender = serializers.SlugRelatedField("slug", queryset=Project.objects.all())
    borrower = serializers.SlugRelatedField("slug", queryset=Project.objects.all())
    model = serializers.SlugRelatedField("name", queryset=GpuModel.objects.all())
    gpus = serializers.IntegerField(min_value=1, max_value=MOST_GPUS)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    daily_from = serializers.TimeField(required=False, allow_null=True, default=None)
    daily_until = serializers.TimeField(required=False, allow_null=True, default=None)
    reason = serializers.CharField(max_length=LONGEST_TEXT)


class AnswerLoanIn(serializers.Serializer):
    """The lender's lead agrees or, with a reason, declines."""

    agrees = serializers.BooleanField()
    reason = serializers.CharField(max_length=LONGEST_TEXT, required=False, allow_blank=True, default="")


class ExceptionOut(RolesOut):
    """GPUs above a division's share for a time."""

    id = serializers.UUIDField(source="public_id")
    division = serializers.CharField(source="division.slug")
    model = serializers.CharField(source="model.name")
    gpus = serializers.IntegerField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    reason = serializers.CharField()
    state = serializers.ChoiceField(choices=SplitException.State.choices)
    proposed_by = serializers.CharField(source="proposed_by.username")
    signatures = SignatureOut(many=True)


class ExceptionIn(serializers.Serializer):
    """An exception that then waits for its signatures."""

    division = serializers.SlugRelatedField("slug", queryset=Division.objects.all())
    model = serializers.SlugRelatedField("name", queryset=GpuModel.objects.all())
    gpus = serializers.IntegerField(min_value=1, max_value=MOST_GPUS)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    reason = serializers.CharField(max_length=LONGEST_TEXT)


class TermsIn(serializers.Serializer):
    """Terms of a project from an instant on, until `until` or the next ones."""

    starts_at = serializers.DateTimeField()
    until = serializers.DateTimeField(required=False, allow_null=True, default=None)
    guarantee_gpus = serializers.IntegerField(min_value=0, max_value=MOST_GPUS, required=False, default=0)
    quota_gpus = serializers.IntegerField(
        min_value=0, max_value=MOST_GPUS, required=False, allow_null=True, default=None
    )
    priority = serializers.IntegerField(min_value=-PRIORITIES, max_value=PRIORITIES, required=False, default=0)
    protected = serializers.BooleanField(required=False, default=False)
    reason = serializers.CharField(max_length=LONGEST_TEXT)


class TermsOut(serializers.Serializer):
    """Terms as they were signed."""

    project = serializers.CharField(source="project.slug")
    starts_at = serializers.DateTimeField(source="during.lower")
    until = serializers.DateTimeField(source="during.upper", allow_null=True)
    guarantee_gpus = serializers.IntegerField()
    quota_gpus = serializers.IntegerField(allow_null=True)
    priority = serializers.IntegerField()
    protected = serializers.BooleanField()
    reason = serializers.CharField()
    signed_by = serializers.CharField(source="signed_by.username")
