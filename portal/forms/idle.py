"""What people say about idle GPUs."""

from django import forms
from django.utils.translation import gettext_lazy as _

from allocations.models.idle import LONGEST_WHY
from portal.forms.fields import day_field, reason_field, text_field


class KeepForm(forms.Form):
    """Why idle GPUs are kept, and until which day."""

    reason = reason_field(label=_("Keep them, because"), help_text=_("Ops read it before they look elsewhere."))
    until_on = day_field(_("Until the end of"))


class PhaseForm(forms.Form):
    """Days on which a project's GPUs may be quiet, and why."""

    starts_on = day_field(_("First day"))
    ends_on = day_field(_("Last day"))
    reason = text_field(
        _("Why"), help_text=_("A demo that waits for its hour, a checkpoint that takes days."), most=LONGEST_WHY
    )
