"""What ops type: cordons, commits, and the filters of the trail."""

from datetime import datetime
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from allocations import days
from portal.forms.fields import day_field

REASON_LENGTH = 300


class CordonForm(forms.Form):
    """A cordon that begins now; the end is a day in the site's zone, inclusive."""

    reason = forms.CharField(
        label=_("Why"), max_length=REASON_LENGTH, help_text=_("Everybody who looks at the node reads it.")
    )
    until_on = day_field(
        _("Until the end of"), required=False, help_text=_("Without a day it stays until somebody lifts it.")
    )

    def until(self) -> datetime | None:
        """The instant at which the last day is over, None for an open end."""
        last = self.cleaned_data["until_on"]
        zone = ZoneInfo(settings.SITE_TIME_ZONE)
        return days.plus_days(days.start_of(last, zone), 1, zone) if last else None


class LiftForm(forms.Form):
    """A reason, where one may be given."""

    reason = forms.CharField(label=_("Why"), max_length=REASON_LENGTH, required=False)


class CommitForm(forms.Form):
    """A commit of what the person saw: the target's generation that stood on the page."""

    generation = forms.IntegerField(min_value=0, widget=forms.HiddenInput)


class TrailFilter(forms.Form):
    """The filters of the trail; all of them stand in the address."""

    verb = forms.CharField(label=_("What"), max_length=60, required=False)
    kind = forms.CharField(label=_("About a"), max_length=40, required=False)
    subject = forms.CharField(label=_("About"), max_length=200, required=False)
    actor = forms.CharField(label=_("Who"), max_length=150, required=False)
