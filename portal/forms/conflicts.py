"""Declaring a conflict of interest and ending one."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from allocations.models import Project
from portal.forms.fields import day_field, reason_field


class ConflictForm(forms.Form):
    """With which project, until when, and why."""

    project = forms.ModelChoiceField(
        Project.objects.none(), label=_("Project"), to_field_name="slug", empty_label=_("choose")
    )
    until_on = day_field(_("Last day"), required=False, help_text=_("Empty: until you end it."))
    reason = reason_field(label=_("Why: those who sign instead read this"))

    def __init__(self, *args: Any, projects: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["project"].queryset = projects  # type: ignore[attr-defined]


class EndConflictForm(forms.Form):
    """Why it is over."""

    reason = reason_field()
