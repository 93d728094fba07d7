"""The pitch as it is typed, the ask that the outlook follows, the answer of a signer."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from allocations.models import Project
from allocations.models.decisions import LONGEST_DAYS, Pitch
from inventory.models import GpuModel
from portal.forms.fields import day_field, reason_field, text_field

MOST_GPUS = 1_000_000  # keeps a typing slip inside the database's integers


class ProjectChoice(forms.ModelChoiceField):
    """A project with its division, since the division decides who signs."""

    def label_from_instance(self, obj: Project) -> str:
        return f"{obj.name} · {obj.division.name}"


class AskForm(forms.Form):
    """The part of a pitch that has numbers: which GPUs, how many, from when, for how long."""

    project = ProjectChoice(label=_("Project"), queryset=Project.objects.none(), empty_label=None)
    model = forms.ModelChoiceField(label=_("GPU model"), queryset=GpuModel.objects.all(), empty_label=None)
    ideal_gpus = forms.IntegerField(label=_("GPUs, ideally"), min_value=1, max_value=MOST_GPUS)
    min_gpus = forms.IntegerField(
        label=_("GPUs, at least"), min_value=1, max_value=MOST_GPUS, help_text=_("Fewer would be no use.")
    )
    start_on = day_field(_("First day"))
    days = forms.IntegerField(label=_("Length in days"), min_value=1, max_value=LONGEST_DAYS)

    def __init__(self, *args: Any, projects: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["project"].queryset = projects  # type: ignore[attr-defined]


class PitchForm(AskForm):
    """A whole pitch. A draft may leave the reasons open, a submitted pitch may not."""

    title = forms.CharField(label=_("Title"), max_length=140, help_text=_("What it is, in a few words."))
    whole_nodes = forms.BooleanField(label=_("Whole nodes only"), required=False)
    one_island = forms.BooleanField(label=_("All on one island (fast links between all GPUs)"), required=False)
    why = text_field(_("Why these GPUs, why now"), rows=5)
    expected_result = text_field(_("What will be there that is not there today"), required=False)
    check_on = day_field(_("Result checked on"), required=False, help_text=_("We ask on that day whether it came."))
    if_declined = text_field(_("What happens without it"), required=False, rows=2)

    def __init__(self, *args: Any, is_final: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["why"].required = is_final

    @staticmethod
    def values_of(pitch: Pitch) -> dict[str, Any]:
        """What the form shows for a pitch that exists."""
        return {name: getattr(pitch, name) for name in PitchForm.base_fields}


class SignOffForm(forms.Form):
    """A signer's answer; `round` is the round that the signer saw."""

    APPROVE, LESS, DECLINE, RECUSE = "approve", "less", "decline", "recuse"

    answer = forms.ChoiceField(
        choices=[(APPROVE, ""), (LESS, ""), (DECLINE, ""), (RECUSE, "")], widget=forms.HiddenInput
    )
    round = forms.IntegerField(min_value=1, widget=forms.HiddenInput)
    role = forms.SlugField(widget=forms.HiddenInput)
    gpus = forms.IntegerField(label=_("GPUs"), required=False, min_value=1, max_value=MOST_GPUS)
    reason = reason_field(required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        answer = self.data.get("answer")
        self.fields["gpus"].required = answer == self.LESS
        self.fields["reason"].required = answer in (self.DECLINE, self.RECUSE)


class ReasonForm(forms.Form):
    """Only a reason."""

    reason = reason_field(required=False, help_text=_("The trail keeps it."))
