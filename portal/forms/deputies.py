"""Setting a deputy and ending one."""

from typing import Any

from django import forms
from django.utils.translation import gettext as __
from django.utils.translation import gettext_lazy as _

from allocations.models import Person, RoleHolder
from portal.forms.fields import day_field, reason_field


class HolderChoice(forms.ModelChoiceField):
    """A role together with one of its holders."""

    def label_from_instance(self, obj: RoleHolder) -> str:
        """The person before the role."""
        return __("%(person)s as %(role)s") % {"person": obj.person.name, "role": obj.role.name}


class PersonChoice(forms.ModelChoiceField):
    """Somebody with a live account."""

    def label_from_instance(self, obj: Person) -> str:
        """The name, with the login where the two differ: names are not unique."""
        return obj.name if obj.name == obj.username else f"{obj.name} ({obj.username})"


class DeputyForm(forms.Form):
    """Who is away in which role, who signs meanwhile, from which day to which."""

    holder = HolderChoice(label=_("Who is away"), queryset=RoleHolder.objects.none(), empty_label=None)
    deputy = PersonChoice(label=_("Who signs meanwhile"), queryset=Person.objects.none(), empty_label=_("choose"))
    starts_on = day_field(_("First day"))
    until_on = day_field(_("Last day"))
    reason = reason_field(required=False)

    def __init__(self, *args: Any, holders: Any, people: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["holder"].queryset = holders  # type: ignore[attr-defined]
        self.fields["deputy"].queryset = people  # type: ignore[attr-defined]


class EndDeputyForm(forms.Form):
    """Why the deputy is needed no more."""

    reason = reason_field()
