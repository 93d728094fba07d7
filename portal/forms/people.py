"""Members and leads of projects, and handing over what is a leaver's."""

from typing import Any

from django import forms
from django.utils.translation import gettext as __
from django.utils.translation import gettext_lazy as _

from allocations.models import Person, Project, Role
from allocations.queries import Theirs
from portal.forms.deputies import PersonChoice
from portal.forms.fields import reason_field


class MemberForm(forms.Form):
    """Who works in the project from now on, by login: a lab is larger than a menu."""

    username = forms.CharField(label=_("Login"), max_length=150)

    def clean_username(self) -> str:
        """The login of somebody with a live account."""
        typed: str = self.cleaned_data["username"].strip()
        if not Person.objects.filter(username=typed, is_active=True).exists():
            raise forms.ValidationError(__("Nobody has the login %(login)s."), params={"login": typed})
        return typed

    @property
    def person(self) -> Person:
        """Who was named."""
        return Person.objects.get(username=self.cleaned_data["username"])


class LeadForm(forms.Form):
    """Which member answers for the project."""

    person = PersonChoice(label=_("Lead"), queryset=Person.objects.none(), empty_label=None)

    def __init__(self, *args: Any, members: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["person"].queryset = members  # type: ignore[attr-defined]


class LetGoForm(forms.Form):
    """For each project a lead, for each role somebody or nobody, and why the person goes."""

    reason = reason_field(label=_("Why"))

    def __init__(self, *args: Any, theirs: Theirs, people: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._theirs = theirs
        # Read once for all fields: a field of its own query each would ask for every project.
        self._people = {str(person.pk): person for person in people}
        for project in theirs.leads:
            self.fields[f"lead-{project.pk}"] = self._field(project.name, nobody=_("choose"))
        for role in theirs.roles:
            field = self._field(role.name, nobody=_("nobody"), required=False)
            if role in theirs.alone:
                field.help_text = _("Nobody else holds it: what waits for it is held until somebody does.")
            self.fields[f"role-{role.pk}"] = field

    def _field(self, label: str, *, nobody: Any, required: bool = True) -> forms.TypedChoiceField:
        label_of = PersonChoice(queryset=Person.objects.none()).label_from_instance
        choices = [("", nobody), *((key, label_of(person)) for key, person in self._people.items())]
        return forms.TypedChoiceField(
            label=label, choices=choices, required=required, coerce=self._people.__getitem__, empty_value=None
        )

    @property
    def lead_fields(self) -> list[forms.BoundField]:
        """A field for each project that the person leads."""
        return [self[f"lead-{project.pk}"] for project in self._theirs.leads]

    @property
    def role_fields(self) -> list[forms.BoundField]:
        """A field for each role that the person holds."""
        return [self[f"role-{role.pk}"] for role in self._theirs.roles]

    @property
    def leads_to(self) -> dict[Project, Person]:
        """Project -> its lead from now on."""
        return {project: self.cleaned_data[f"lead-{project.pk}"] for project in self._theirs.leads}

    @property
    def roles_to(self) -> dict[Role, Person]:
        """Role -> who takes it over, where somebody does."""
        named = {role: self.cleaned_data[f"role-{role.pk}"] for role in self._theirs.roles}
        return {role: person for role, person in named.items() if person}
