"""Winding a project down, taking that back, ending it."""

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.forms.fields import day_field, reason_field

MOST_GPUS = 2**31 - 1  # of the column
PRIORITIES = 100  # on either side of the usual 0


class TermsForm(forms.Form):
    """What the project may count on, and what bounds it, from a day on."""

    starts_on = day_field(_("From"))
    ends_on = day_field(_("Last day"), required=False, help_text=_("Empty: until other terms begin."))
    guarantee_gpus = forms.IntegerField(label=_("Guaranteed GPUs"), min_value=0, max_value=MOST_GPUS, initial=0)
    quota_gpus = forms.IntegerField(
        label=_("Quota"),
        required=False,
        min_value=0,
        max_value=MOST_GPUS,
        help_text=_("Never more promised at once, over all models. Empty: none."),
    )
    priority = forms.IntegerField(label=_("Priority"), min_value=-PRIORITIES, max_value=PRIORITIES, initial=0)
    protected = forms.BooleanField(
        label=_("Protected"), required=False, help_text=_("No plan takes its GPUs while it holds a promise.")
    )
    reason = reason_field()


class WindDownForm(forms.Form):
    """Why, and until when its GPUs come back."""

    releases_on = day_field(_("Last day"), help_text=_("The last day on which the project uses its GPUs."))
    reason = reason_field()


class ResumeForm(forms.Form):
    """Why the project goes on after all."""

    reason = reason_field()


class EndProjectForm(forms.Form):
    """Why the project is over."""

    reason = reason_field()
