"""Winding a project down, taking that back, ending it."""

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.forms.fields import day_field, reason_field


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
