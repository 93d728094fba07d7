"""What people decide about a grant: an early end, a longer time, fewer GPUs, a signature, what came of it."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from allocations.models import ChangeSignOff, GrantChange, ResultCheck
from allocations.models.pitches import LONGEST_DAYS
from portal.forms.fields import day_field, reason_field, text_field

MOST_GPUS = 2**31 - 1  # of the column; what fits is for the service to say


class EndGrantForm(forms.Form):
    """Why the promise ends now."""

    reason = reason_field(help_text=_("What it holds is free for the next plan at once."))


class ExtensionForm(forms.Form):
    """For how long, why, and how it went so far."""

    days = forms.IntegerField(label=_("More days"), min_value=1, max_value=LONGEST_DAYS, initial=14)
    reason = reason_field(help_text=_("They are counted from the last day: an early extension loses none."))
    so_far = text_field(_("How it went so far"), help_text=_("Those who sign read it."))


class ChangeForm(forms.Form):
    """Whether the grant keeps fewer GPUs or ends, from which day, and why; an end leaves `gpus` None."""

    kind = forms.ChoiceField(
        label=_("The grant"),
        choices=[
            ("", _("Choose …")),
            (GrantChange.Kind.SHRINK.value, _("keeps fewer GPUs")),
            (GrantChange.Kind.END.value, _("ends")),
        ],
    )
    gpus = forms.IntegerField(
        label=_("GPUs that it keeps"),
        min_value=1,
        max_value=MOST_GPUS,
        error_messages={"required": _("Type how many GPUs it keeps.")},
        help_text=_("If it keeps fewer; an end keeps none."),
    )
    takes_effect_on = day_field(_("From the day"), required=False, help_text=_("Empty: with the last signature."))
    reason = reason_field(help_text=_("The lead is told and can answer; those who sign read both."))

    def clean(self) -> dict[str, Any]:
        """An end keeps none, whatever number stands there."""
        said = self.cleaned_data
        if said.get("kind") == GrantChange.Kind.END:
            self.errors.pop("gpus", None)
            said["gpus"] = None
        return said


class SignChangeForm(forms.Form):
    """A role's answer."""

    verdict = forms.ChoiceField(choices=ChangeSignOff.Verdict.choices)
    role = forms.SlugField(required=False)
    reason = reason_field(required=False, help_text=_("Needed to decline."))


class AnswerChangeForm(forms.Form):
    """What the lead says to a smaller grant or an end."""

    answer = forms.ChoiceField(choices=GrantChange.LeadAnswer.choices)
    reason = reason_field(required=False, help_text=_("Needed to object; those who sign read it."))


class ResultForm(forms.Form):
    """What came of the grant."""

    outcome = forms.ChoiceField(label=_("The result is"), choices=ResultCheck.Outcome.choices, widget=forms.RadioSelect)
    said = text_field(_("In words"), help_text=_("The next approvers of this project read it."))
