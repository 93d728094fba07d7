"""Ending a grant before its time."""

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.forms.fields import reason_field


class EndGrantForm(forms.Form):
    """Why the promise ends now."""

    reason = reason_field(help_text=_("What it holds is free for the next plan at once."))
