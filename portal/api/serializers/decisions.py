"""Projects, pitches with their sign-offs, splits, grants and needs."""

from django.core.validators import MaxValueValidator, MinValueValidator
from rest_framework import serializers

from allocations import queries
from allocations.days import FIRST_DAY, LAST_DAY
from allocations.models import Pitch, Project, Question, SignOff, Split
from allocations.models.pitches import LONGEST_DAYS
from inventory.models import GpuModel
from portal.api.serializers.signed import LONGEST_TEXT, MOST_GPUS, RolesOut, SignatureOut

REACHABLE = [MinValueValidator(FIRST_DAY), MaxValueValidator(LAST_DAY)]


class ProjectOut(serializers.Serializer):
    """A project; `lead` is a login."""

    slug = serializers.CharField()
    name = serializers.CharField()
    division = serializers.CharField(source="division.slug")
    lead = serializers.CharField(source="lead.username")
    state = serializers.ChoiceField(choices=Project.State.choices)
    wind_down_reason = serializers.CharField()
    releases_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class SignOffOut(serializers.Serializer):
    """What a role answered to one round of a pitch."""

    round = serializers.IntegerField()
    role = serializers.CharField(source="role.slug")
    person = serializers.CharField(source="person.username")
    deputy_for = serializers.CharField(source="deputy_for.username", allow_null=True, default=None)
    verdict = serializers.ChoiceField(choices=SignOff.Verdict.choices)
    gpus = serializers.IntegerField()
    model = serializers.CharField(source="model.name", allow_null=True, default=None)
    start_on = serializers.DateField(allow_null=True)
    days = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField()
    at = serializers.DateTimeField()


class AlternativeOut(serializers.Serializer):
    """Another model that would do, with its own number."""

    model = serializers.CharField(source="model.name")
    gpus = serializers.IntegerField()


class LinkOut(serializers.Serializer):
    """Something to read with the pitch."""

    name = serializers.CharField()
    url = serializers.CharField()


class AnswerOut(serializers.Serializer):
    """What the pitch says to a question of its division."""

    question = serializers.IntegerField(source="question_id")
    text = serializers.CharField(source="question.text")
    value = serializers.CharField()


class QuestionOut(serializers.Serializer):
    """What a division asks of each pitch; `choices` of a question that names them."""

    question = serializers.IntegerField(source="pk")
    text = serializers.CharField()
    help = serializers.CharField()
    kind = serializers.ChoiceField(choices=Question.Kind.choices)
    choices = serializers.ListField(child=serializers.CharField())
    is_required = serializers.BooleanField()


class NeededOut(serializers.Serializer):
    """A role that must sign: after every lower `position`, by `due_at`; then `escalates_to` hears of it."""

    role = serializers.CharField(source="role.slug")
    position = serializers.IntegerField()
    due_at = serializers.DateTimeField(allow_null=True)
    escalates_to = serializers.CharField(source="escalates_to.slug", allow_null=True, default=None)
    escalated_at = serializers.DateTimeField(allow_null=True)


class PitchOut(RolesOut):
    """A pitch. Send `round` back when you sign: it says which terms you saw."""

    id = serializers.UUIDField(source="public_id")
    project = serializers.CharField(source="project.slug")
    pitcher = serializers.CharField(source="pitcher.username")
    title = serializers.CharField()
    why = serializers.CharField()
    expected_result = serializers.CharField()
    check_on = serializers.DateField(allow_null=True)
    if_declined = serializers.CharField()
    model = serializers.CharField(source="model.name")
    ideal_gpus = serializers.IntegerField()
    min_gpus = serializers.IntegerField()
    offered_gpus = serializers.IntegerField()
    offered_model = serializers.CharField(source="terms.model.name")
    offered_start_on = serializers.DateField(source="terms.start_on")
    offered_days = serializers.IntegerField(source="terms.days")
    answer_due_at = serializers.DateTimeField(allow_null=True)
    waitlist_rank = serializers.IntegerField(allow_null=True)
    whole_nodes = serializers.BooleanField()
    one_island = serializers.BooleanField()
    required_labels = serializers.DictField(child=serializers.CharField())
    alternatives = AlternativeOut(many=True)
    links = LinkOut(many=True)
    answers = AnswerOut(many=True)
    start_on = serializers.DateField()
    start_until = serializers.DateField(allow_null=True)
    days = serializers.IntegerField()
    counts_from = serializers.ChoiceField(choices=Pitch.CountsFrom.choices)
    is_over_share = serializers.BooleanField()
    is_fast_lane = serializers.BooleanField()
    findings = serializers.ListField(child=serializers.DictField(child=serializers.CharField()))
    state = serializers.ChoiceField(choices=Pitch.State.choices)
    round = serializers.IntegerField()
    needed = NeededOut(source="needed_roles", many=True)
    sign_offs = SignOffOut(many=True)
    submitted_at = serializers.DateTimeField(allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    follows = serializers.UUIDField(source="resubmits.public_id", allow_null=True, default=None)


class AlternativeIn(serializers.Serializer):
    """Another model that would do; `model` is a name."""

    model = serializers.SlugRelatedField("name", queryset=GpuModel.objects.all())
    gpus = serializers.IntegerField(min_value=1, max_value=MOST_GPUS)


class LinkIn(serializers.Serializer):
    """An https address, with a name where it has one."""

    name = serializers.CharField(max_length=140, required=False, allow_blank=True, default="")
    url = serializers.CharField(max_length=500)


class AnswerIn(serializers.Serializer):
    """An answer, as text of the question's kind (a day as 2027-03-31)."""

    question = serializers.PrimaryKeyRelatedField(queryset=Question.objects.filter(ended_at=None))
    value = serializers.CharField(max_length=LONGEST_TEXT, allow_blank=True)


class PitchIn(serializers.Serializer):
    """A draft, said whole; `project` is a slug, `model` a name."""

    project = serializers.SlugRelatedField("slug", queryset=Project.objects.all())
    title = serializers.CharField(max_length=140)
    why = serializers.CharField(max_length=LONGEST_TEXT)
    expected_result = serializers.CharField(max_length=LONGEST_TEXT, required=False, allow_blank=True, default="")
    check_on = serializers.DateField(required=False, allow_null=True, default=None, validators=REACHABLE)
    if_declined = serializers.CharField(max_length=LONGEST_TEXT, required=False, allow_blank=True, default="")
    model = serializers.SlugRelatedField("name", queryset=GpuModel.objects.all())
    ideal_gpus = serializers.IntegerField(min_value=1, max_value=MOST_GPUS)
    min_gpus = serializers.IntegerField(min_value=1, max_value=MOST_GPUS)
    whole_nodes = serializers.BooleanField(required=False, default=False)
    one_island = serializers.BooleanField(required=False, default=False)
    required_labels = serializers.DictField(child=serializers.CharField(max_length=120), required=False, default=dict)
    alternatives = AlternativeIn(many=True, required=False, default=list)
    links = LinkIn(many=True, required=False, default=list)
    answers = AnswerIn(many=True, required=False, default=list)
    start_on = serializers.DateField(validators=REACHABLE)
    start_until = serializers.DateField(required=False, allow_null=True, default=None, validators=REACHABLE)
    days = serializers.IntegerField(min_value=1, max_value=LONGEST_DAYS)


class SplitOut(RolesOut):
    """A split. `percents`: model name ("" for every other one) -> division -> percent; the rest is the reserve."""

    id = serializers.UUIDField(source="public_id")
    starts_at = serializers.DateTimeField()
    reason = serializers.CharField()
    state = serializers.ChoiceField(choices=Split.State.choices)
    proposed_by = serializers.CharField(source="proposed_by.username")
    proposed_at = serializers.DateTimeField()
    signed_at = serializers.DateTimeField(allow_null=True)
    signatures = SignatureOut(many=True)
    percents = serializers.SerializerMethodField()
    weights = serializers.SerializerMethodField()

    def get_weights(self, row: Split) -> dict[str, str]:
        """Model name -> what a GPU-hour of it counts against those of the others."""
        return {weight.model.name: f"{weight.weight:.3f}" for weight in row.weights.all()}

    def get_percents(self, split: Split) -> dict[str, dict[str, str]]:
        """The lines as nested mappings; numbers as text, as everywhere where a cent counts."""
        percents = queries.percents_of(split)
        return {
            model: {slug: f"{percent:.2f}" for slug, percent in shares.items()} for model, shares in percents.items()
        }


class SplitIn(serializers.Serializer):
    """A split that then waits for its signatures."""

    starts_at = serializers.DateTimeField()
    percents = serializers.DictField(
        child=serializers.DictField(child=serializers.DecimalField(max_digits=5, decimal_places=2)),
        help_text='Model name ("" for every model that is not named) -> division -> percent.',
    )
    reason = serializers.CharField(max_length=LONGEST_TEXT, required=False, allow_blank=True, default="")
    weights = serializers.DictField(
        child=serializers.DecimalField(max_digits=6, decimal_places=3),
        required=False,
        default=dict,
        help_text="Model name -> what a GPU-hour of it counts against those of the others.",
    )


class GrantOut(serializers.Serializer):
    """A promise; `assigned_gpus` are meant for it, `held_gpus` proven in the project's hands."""

    id = serializers.UUIDField(source="public_id")
    pitch = serializers.UUIDField(source="pitch.public_id", allow_null=True, default=None)
    project = serializers.CharField(source="project.slug")
    model = serializers.CharField(source="model.name")
    gpus = serializers.IntegerField()
    assigned_gpus = serializers.IntegerField()
    held_gpus = serializers.IntegerField()
    whole_nodes = serializers.BooleanField()
    one_island = serializers.BooleanField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    issued_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    is_emergency = serializers.BooleanField()
    ratify_by = serializers.DateTimeField(allow_null=True)
    ratified_at = serializers.DateTimeField(allow_null=True)


class EndGrantIn(serializers.Serializer):
    """Why a grant ends early."""

    reason = serializers.CharField(max_length=LONGEST_TEXT)


class NeedOut(serializers.Serializer):
    """A grant in force, or about to be, that lacks GPUs."""

    grant = serializers.UUIDField(source="public_id")
    project = serializers.CharField(source="project.slug")
    model = serializers.CharField(source="model.name")
    gpus = serializers.IntegerField()
    assigned_gpus = serializers.IntegerField()
    missing_gpus = serializers.IntegerField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
