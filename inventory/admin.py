"""The administration of what is declared: nodes with their drivers, and GPU models; what surveys saw is only shown."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model, URLField
from django.forms import CharField, ModelForm, PasswordInput
from django.http import HttpRequest
from django.utils.translation import gettext as __
from django.utils.translation import gettext_lazy as _

from inventory import trail
from inventory.imports.csv_files import can_stand_in_an_address
from inventory.models import Cordon, Event, Gpu, GpuModel, Node

# What agents say of themselves, and what ops want of them with a reason.
SAID = ("mode", "mode_since", "said_mode", "agent_version", "gpu_driver", "cards_on_bus")


class Recorded(admin.ModelAdmin):
    """Rows that admins write: nothing is deleted, and every change is an event with before and after."""

    secrets: tuple[str, ...] = ()

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Model, form: ModelForm, change: bool) -> None:
        before = {name: form.initial.get(name) for name in form.changed_data} if change else {}
        super().save_model(request, obj, form, change)
        changed = {name: [_plain(before.get(name)), _plain(form.cleaned_data.get(name))] for name in form.changed_data}
        hidden = {name: "changed" if name in self.secrets else values for name, values in changed.items()}
        noun = obj._meta.model_name
        trail.record(f"{noun}.{'changed' if change else 'added'}", obj, by=request.user, changed=hidden)


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | dict | None) else str(value)


class Shown(admin.ModelAdmin):
    """Rows that other parts write: to look at."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(GpuModel)
class GpuModelAdmin(Recorded):
    list_display = ("name", "memory_mib", "tdp_w", "price_per_gpu_hour")
    search_fields = ("name",)


class NodeForm(ModelForm):
    """A node as an admin declares it. Its token can be written, for an exporter that wants one, and never read."""

    token = CharField(
        label=_("Token"),
        max_length=120,
        required=False,
        widget=PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Left empty it stays as it is. Nodes with the agent get theirs by joining."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["token"] = ""

    def clean_token(self) -> str:
        """What was typed, else the token that there is."""
        typed: str = self.cleaned_data["token"]
        return typed or self.instance.token

    def clean_name(self) -> str:
        """A name that its page can be addressed by."""
        name: str = self.cleaned_data["name"]
        if not can_stand_in_an_address(name):
            raise ValidationError(__("A name of a node is not . or .. and has no /."))
        return name


@admin.register(Node)
class NodeAdmin(Recorded):
    form = NodeForm
    secrets = ("token",)
    formfield_overrides = {URLField: {"assume_scheme": "https"}}  # agents speak TLS only
    list_display = ("name", "site", "island", "model", "expected_gpus", "driver", "silent_since", "retired_at")
    list_filter = ("site", "model", "driver")
    list_select_related = ("model",)
    search_fields = ("name", "island")
    readonly_fields = ("declared_at", "retired_at", "answered_at", "silent_since", "fault", "boot_id", "source", *SAID)


@admin.register(Gpu)
class GpuAdmin(Shown):
    list_display = ("uuid", "kind", "node", "pci_bus_id", "model", "lost_at", "retired_at")
    list_filter = ("kind", "model")
    list_select_related = ("node", "model")
    search_fields = ("uuid", "node__name")


@admin.register(Cordon)
class CordonAdmin(Shown):
    list_display = ("node", "during", "reason")
    list_select_related = ("node",)
    search_fields = ("node__name", "reason")


@admin.register(Event)
class EventAdmin(Shown):
    list_display = ("at", "verb", "subject_label", "actor", "reason")
    search_fields = ("verb", "actor", "subject_label")
    show_full_result_count = False
