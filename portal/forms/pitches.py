"""The pitch as it is typed."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from allocations.asks import Details
from allocations.models import Project
from allocations.models.pitches import Pitch
from portal.forms.asking import AskForm
from portal.forms.details import (
    LABEL,
    details_as_typed,
    label_fields,
    links_field,
    links_in,
    question_fields,
)
from portal.forms.fields import day_field, reason_field, text_field
from portal.pages import KEY_DIGITS

# What the form types in several fields, or nowhere: how a difference between two pitches names it.
LABELS_BESIDE = {
    "alternatives": _("Other models that would do"),
    "required_labels": _("Only on nodes with"),
    "answers": _("Questions of the division"),
}


class PitchForm(AskForm):
    """A whole pitch. A draft may leave the reasons open, a submitted pitch may not."""

    title = forms.CharField(label=_("Title"), max_length=140, help_text=_("What it is, in a few words."))
    whole_nodes = forms.BooleanField(label=_("Whole nodes only"), required=False)
    one_island = forms.BooleanField(label=_("All on one island (fast links between all GPUs)"), required=False)
    why = text_field(_("Why these GPUs, why now"), rows=5)
    expected_result = text_field(_("What will be there that is not there today"), required=False)
    check_on = day_field(_("Result checked on"), required=False, help_text=_("We ask on that day whether it came."))
    if_declined = text_field(_("What happens without it"), required=False, rows=2)
    links = links_field()

    def __init__(self, *args: Any, is_final: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["why"].required = is_final
        # What was saved stays a choice; what somebody only types has to be one.
        chosen = {name.removeprefix(LABEL): text for name, text in self.initial.items() if name.startswith(LABEL)}
        self.label_fields = label_fields(chosen)
        self.question_fields = question_fields(self._project())
        self.fields.update({**self.label_fields, **self.question_fields})

    @staticmethod
    def values_of(pitch: Pitch) -> dict[str, Any]:
        """What the form shows for a pitch that exists."""
        own = {name: getattr(pitch, name) for name in PitchForm.base_fields if name != "links"}
        return own | details_as_typed(pitch)

    @staticmethod
    def label_of(name: str) -> Any:
        """How a field of the ask is called, one that has no field of its own here too."""
        return LABELS_BESIDE.get(name) or PitchForm.base_fields[name].label

    @property
    def said(self) -> dict[str, Any]:
        """What is typed, as `save_draft` takes it; of a valid form."""
        typed = self.cleaned_data
        plain = {name: typed[name] for name in self.base_fields if name != "links"}
        answers = {field.question: typed[name] for name, field in self.question_fields.items()}
        labels = {name.removeprefix(LABEL): typed[name] for name in self.label_fields if typed[name]}
        details = Details(self.alternatives, links_in(typed["links"]), answers)
        return {**plain, "required_labels": labels, "details": details}

    @property
    def labels(self) -> list[forms.BoundField]:
        """The choices of labels, for the page."""
        return [self[name] for name in self.label_fields]

    @property
    def questions(self) -> list[forms.BoundField]:
        """The questions, for the page."""
        return [self[name] for name in self.question_fields]

    @property
    def has_details(self) -> bool:
        """Whether the folded part about models, place and shape says something or is in the way."""
        names = [name for name in self.fields if name.startswith(("alternative_", LABEL))]
        return any(self[name].value() or self[name].errors for name in names)

    def _project(self) -> Project | None:
        if not self.is_bound:
            return self.initial.get("project")
        named = self.data.get("project", "")
        if not named.isdecimal() or len(named) > KEY_DIGITS:
            return None
        found: Project | None = self.fields["project"].queryset.filter(pk=named).first()  # type: ignore[attr-defined]
        return found


class EmergencyForm(forms.Form):
    """Why a pitch is granted at once, by one person alone."""

    reason = reason_field(label=_("What cannot wait"))


class ReasonForm(forms.Form):
    """Only a reason."""

    reason = reason_field(required=False, help_text=_("The trail keeps it."))
