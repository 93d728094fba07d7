"""The administration of people, roles, policies and divisions; decisions, plans and messages are only shown."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminSplitDateTime
from django.contrib.auth.admin import UserAdmin
from django.db import transaction
from django.db.models import Model, QuerySet
from django.forms import BaseInlineFormSet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from allocations import outbox, projects
from allocations.errors import AllocationsError
from allocations.models import (
    Assignment,
    Division,
    Grant,
    HeadCount,
    Holding,
    Holiday,
    Membership,
    Move,
    NoticePreference,
    OutboxMessage,
    Person,
    Pitch,
    Plan,
    Policy,
    PolicyRole,
    Project,
    ProjectTerms,
    Question,
    Role,
    RoleHolder,
    SignOff,
    Split,
)
from inventory import trail
from inventory.admin import Recorded, Shown


@admin.register(Person)
class PersonAdmin(Recorded, UserAdmin):
    """Only a superuser makes another one; what a role gives is not set here."""

    secrets = ("password", "password1", "password2")
    list_display = ("username", "first_name", "last_name", "email", "is_active", "last_login")
    list_filter = ("is_active",)
    filter_horizontal = ()
    readonly_fields = ("last_login", "date_joined", "is_staff")
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        (_("Person"), {"fields": ("first_name", "last_name", "email", "time_zone")}),
        (_("Account"), {"fields": ("is_active", "is_staff", "is_superuser", "last_login", "date_joined")}),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Person | None = None) -> tuple[str, ...]:
        """The account's powers are for superusers to change."""
        own = super().get_readonly_fields(request, obj)
        return (*own,) if _is_superuser(request) else (*own, "is_superuser")

    def has_change_permission(self, request: HttpRequest, obj: Person | None = None) -> bool:
        """A superuser's account, and its password, is changed by superusers only."""
        allowed = super().has_change_permission(request, obj)
        return allowed and (obj is None or not obj.is_superuser or _is_superuser(request))

    @transaction.atomic
    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002
        """The trail says whose password was set, by whom. Sessions and tokens of that person end with it."""
        response: HttpResponse = super().user_change_password(request, id, form_url)
        if request.method == "POST" and response.status_code == HTTPStatus.FOUND:
            person: Any = Person.objects.get(pk=id)
            person.auth_token_set.all().delete()
            trail.record("person.password_set", person, by=request.user)
        return response


@admin.register(Division)
class DivisionAdmin(Recorded):
    list_display = ("name", "slug", "ended_at")


@admin.register(Role)
class RoleAdmin(Recorded):
    list_display = ("name", "slug", "division", "power")
    list_select_related = ("division",)


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


@admin.register(HeadCount)
class HeadCountAdmin(Recorded):
    list_display = ("division", "starts_on", "people")
    list_select_related = ("division",)


class GiveRole(forms.ModelForm):
    """Role, person and an end if there is one; it begins now."""

    until = forms.SplitDateTimeField(
        label=_("until"), required=False, widget=AdminSplitDateTime, help_text=_("empty: until ended")
    )

    class Meta:
        model = RoleHolder
        fields = ("role", "person")


@admin.register(RoleHolder)
class RoleHolderAdmin(Shown):
    """A role is given and ended by the services, which check and record it."""

    form = GiveRole
    list_display = ("role", "person", "during")
    list_filter = ("role",)
    list_select_related = ("role", "person")
    actions = ("end_roles",)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """The one thing that can be added here."""
        return admin.ModelAdmin.has_add_permission(self, request)

    def save_model(self, request: HttpRequest, obj: RoleHolder, form: forms.ModelForm, change: bool) -> None:
        """The role is given from now on."""
        held = projects.give_role(
            role=obj.role, person=obj.person, by=_person(request), until=form.cleaned_data["until"]
        )
        obj.pk, obj.during = held.pk, held.during

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """A refusal is said on the list, and nothing is written."""
        try:
            return super().changeform_view(request, *args, **kwargs)
        except AllocationsError as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
            return redirect("admin:allocations_roleholder_changelist")

    @admin.action(description=_("End now"), permissions=["add"])
    def end_roles(self, request: HttpRequest, queryset: QuerySet[RoleHolder]) -> None:
        """Each of them no longer holds the role."""
        for held in queryset.select_related("role", "person"):
            try:
                projects.end_role(role=held.role, person=held.person, by=_person(request))
            except AllocationsError as refusal:
                self.message_user(request, refusal.message, messages.ERROR)


@admin.register(Project)
class ProjectAdmin(Shown):
    list_display = ("name", "slug", "division", "lead", "state", "releases_at", "ended_at")
    list_filter = ("state", "division")
    list_select_related = ("division", "lead")
    search_fields = ("name", "slug")


@admin.register(Membership)
class MembershipAdmin(Shown):
    list_display = ("project", "person", "during")
    list_select_related = ("project", "person")


@admin.register(ProjectTerms)
class ProjectTermsAdmin(Shown):
    list_display = ("project", "during", "guarantee_gpus", "protected", "quota_gpus", "priority", "signed_by")
    list_select_related = ("project", "signed_by")


@admin.register(Pitch)
class PitchAdmin(Shown):
    list_display = ("title", "project", "pitcher", "state", "offered_gpus", "model", "submitted_at", "decided_at")
    list_filter = ("state",)
    list_select_related = ("project", "pitcher", "model")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Pitch]:
        """Drafts are their writers' alone."""
        shown: QuerySet[Pitch] = super().get_queryset(request)
        return shown.filter(submitted_at__isnull=False)


@admin.register(SignOff)
class SignOffAdmin(Shown):
    list_display = ("pitch", "round", "role", "person", "verdict", "gpus", "at", "undone_at")
    list_select_related = ("pitch", "role", "person")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SignOff]:
        """Those that were undone, too."""
        return SignOff.every.all()


@admin.register(Split)
class SplitAdmin(Shown):
    list_display = ("starts_at", "state", "proposed_by", "proposed_at", "signed_at")
    list_select_related = ("proposed_by",)


@admin.register(Grant)
class GrantAdmin(Shown):
    list_display = ("project", "gpus", "model", "starts_at", "ends_at", "issued_by", "ended_by")
    list_select_related = ("project", "model", "issued_by", "ended_by")


@admin.register(Plan)
class PlanAdmin(Shown):
    list_display = ("public_id", "purpose", "short_gpus", "proposed_by", "proposed_at", "committed_by", "generation")
    list_select_related = ("proposed_by", "committed_by")


@admin.register(Move)
class MoveAdmin(Shown):
    list_display = ("gpu", "from_holder", "project", "state", "generation", "attempts", "fault")
    list_filter = ("state",)
    list_select_related = ("gpu__node", "project")


@admin.register(Assignment, Holding)
class PossessionAdmin(Shown):
    list_display = ("gpu", "project", "grant", "during", "generation")
    list_select_related = ("gpu__node", "project", "grant__project", "grant__model")


class ChatAddress(forms.ModelForm):
    """An address that some chat service understands."""

    def clean_chat_url(self) -> str:
        """The address as it was typed."""
        chat_url: str = self.cleaned_data["chat_url"]
        if chat_url and not outbox.hidden_address(chat_url):
            raise forms.ValidationError(_("No chat service has such an address."))
        return chat_url


@admin.register(NoticePreference)
class NoticePreferenceAdmin(Recorded):
    """Where the chat of a person is; the rest is the person's own choice."""

    form = ChatAddress
    secrets = ("chat_url",)
    fields = ("person", "chat_url")
    list_display = ("person", "by_mail", "by_chat")
    list_select_related = ("person",)

    def get_readonly_fields(self, request: HttpRequest, obj: NoticePreference | None = None) -> tuple[str, ...]:
        """Whose it is stays."""
        return ("person",) if obj else ()


@admin.register(OutboxMessage)
class OutboxMessageAdmin(Shown):
    """Why a message was put off or parked."""

    list_display = ("subject", "person", "channel", "not_before", "attempts", "sent_at", "parked_at", "fault")
    list_filter = (("parked_at", admin.EmptyFieldListFilter), ("sent_at", admin.EmptyFieldListFilter))
    list_select_related = ("person",)


def _is_superuser(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_superuser", False))


def _person(request: HttpRequest) -> Person:
    assert isinstance(request.user, Person), "the admin site lets nobody in who is not logged in"
    return request.user
