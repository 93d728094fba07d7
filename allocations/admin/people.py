"""The administration of people, divisions, roles and who holds them."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminSplitDateTime
from django.contrib.auth.admin import UserAdmin
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from allocations import projects
from allocations.errors import AllocationsError
from allocations.models import (
    Division,
    HeadCount,
    Person,
    Role,
    RoleHolder,
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


def _is_superuser(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_superuser", False))


def _person(request: HttpRequest) -> Person:
    assert isinstance(request.user, Person), "the admin site lets nobody in who is not logged in"
    return request.user
