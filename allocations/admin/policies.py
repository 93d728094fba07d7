"""The administration of policies, questions and days off."""

from typing import Any

from django import forms
from django.contrib import admin
from django.forms import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from allocations.models import (
    Holiday,
    Policy,
    PolicyRole,
    Question,
    Role,
)
from inventory import trail
from inventory.admin import Recorded


class NamedRoles(BaseInlineFormSet):
    """The roles of a policy: one at least, since a policy that names nobody would let nothing through."""

    def clean(self) -> None:
        """Somebody decides, and by a role that decides."""
        super().clean()
        named = [form.cleaned_data.get("role") for form in self.forms if not form.cleaned_data.get("DELETE")]
        if not any(named):
            raise forms.ValidationError(_("Name a role that signs: a policy without one lets nothing through."))
        idle = [role.name for role in named if role and role.power != Role.Power.DECIDE]
        if idle:
            raise forms.ValidationError(_("%(role)s does not decide; name a role that does.") % {"role": idle[0]})


class PolicyRoleInline(admin.TabularInline):
    model = PolicyRole
    formset = NamedRoles
    extra = 1


@admin.register(Policy)
class PolicyAdmin(Recorded):
    list_display = (
        "subject", "division", "min_gpus", "max_gpus", "over_share", "is_fast_lane", "due_working_days", "during"
    )  # fmt: skip
    list_filter = ("subject",)
    list_select_related = ("division",)
    inlines = (PolicyRoleInline,)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """The trail says which roles the policy names afterwards."""
        super().save_related(request, form, formsets, change)
        roles = list(form.instance.roles.values_list("slug", flat=True))
        trail.record("policy.roles", form.instance, by=request.user, roles=roles)


class Asked(forms.ModelForm):
    """A question; the choices are typed one a line."""

    choices = forms.CharField(
        label=_("choices"), required=False, widget=forms.Textarea(attrs={"rows": 4}), help_text=_("one a line")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["choices"] = "\n".join(self.instance.choices)

    def clean_choices(self) -> list[str]:
        """Each word once, in order."""
        lines = [line.strip() for line in self.cleaned_data["choices"].splitlines()]
        return list(dict.fromkeys(line for line in lines if line))

    def clean(self) -> dict[str, Any]:
        """A choice has words to choose from."""
        typed: dict[str, Any] = super().clean() or {}
        if typed.get("kind") == Question.Kind.CHOICE and not typed.get("choices"):
            self.add_error("choices", _("Give the words to choose from."))
        return typed


@admin.register(Question)
class QuestionAdmin(Recorded):
    """What divisions ask of each pitch; one that was answered is ended and not deleted."""

    form = Asked
    list_display = ("text", "division", "kind", "is_required", "position", "ended_at")
    list_filter = ("division",)
    list_select_related = ("division",)


@admin.register(Holiday)
class HolidayAdmin(Recorded):
    list_display = ("on", "name", "division")
    list_filter = ("division",)
