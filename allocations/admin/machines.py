"""The administration of what decisions need to know of the nodes: Unix accounts, and when idle GPUs are asked about."""

from django.contrib import admin

from allocations.models import IdlePolicy, UnixAccount
from inventory.admin import Recorded


@admin.register(UnixAccount)
class UnixAccountAdmin(Recorded):
    list_display = ("login", "uid", "realm", "person", "during")
    list_filter = ("realm",)
    list_select_related = ("person",)
    search_fields = ("login", "person__username", "person__last_name")
    autocomplete_fields = ("person",)


@admin.register(IdlePolicy)
class IdlePolicyAdmin(Recorded):
    list_display = ("__str__", "is_on", "warn_after_min", "again_after_min", "desk_after_min", "interactive_h")
    list_select_related = ("project", "division")
    autocomplete_fields = ("project",)
