"""A loan between two projects, the lender's answer, and an exception above the split."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from allocations.models import Division, Project
from inventory.models import GpuModel
from portal.forms.fields import day_field, reason_field

MOST_GPUS = 2**31 - 1  # of the column; what fits is for the service to say


class ClockInput(forms.TimeInput):
    """A time of the day in the browser's own picker."""

    input_type = "time"


class LoanForm(forms.Form):
    """Who lends whom how many until when; the hours only for a nightly one."""

    lender = forms.ModelChoiceField(Project.objects.none(), label=_("Lends"), to_field_name="slug")
    borrower = forms.ModelChoiceField(Project.objects.none(), label=_("Borrows"), to_field_name="slug")
    model = forms.ModelChoiceField(GpuModel.objects.order_by("name"), label=_("GPU model"), to_field_name="name")
    gpus = forms.IntegerField(label=_("GPUs"), min_value=1, max_value=MOST_GPUS)
    starts_on = day_field(_("From"))
    ends_on = day_field(_("Last day"), help_text=_("They are due back the day after."))
    daily_from = forms.TimeField(label=_("Every day from"), required=False, widget=ClockInput(format="%H:%M"))
    daily_until = forms.TimeField(
        label=_("Every day until"),
        required=False,
        widget=ClockInput(format="%H:%M"),
        help_text=_("Site's clock; may cross midnight. Empty: day and night."),
    )
    reason = reason_field()

    def __init__(self, *args: Any, projects: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("lender", "borrower"):
            self.fields[name].queryset = projects  # type: ignore[attr-defined]


class AnswerLoanForm(forms.Form):
    """What the lender's lead says."""

    agrees = forms.ChoiceField(choices=[("yes", _("agree")), ("no", _("decline"))])
    reason = reason_field(required=False, help_text=_("Needed to decline."))


class ExceptionForm(forms.Form):
    """How many GPUs more for which division until when, and why."""

    division = forms.ModelChoiceField(Division.objects.none(), label=_("Division"), to_field_name="slug")
    model = forms.ModelChoiceField(GpuModel.objects.order_by("name"), label=_("GPU model"), to_field_name="name")
    gpus = forms.IntegerField(label=_("GPUs above the share"), min_value=1, max_value=MOST_GPUS)
    starts_on = day_field(_("From"))
    ends_on = day_field(_("Last day"), help_text=_("It ends by itself; what stands above then is over the share."))
    reason = reason_field()

    def __init__(self, *args: Any, divisions: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["division"].queryset = divisions  # type: ignore[attr-defined]
