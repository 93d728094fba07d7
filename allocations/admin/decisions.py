"""Decisions, plans and possession: shown, and changed by the services alone."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from allocations.models import (
    Assignment,
    ConflictOfInterest,
    Grant,
    Holding,
    Membership,
    Move,
    Pitch,
    Plan,
    Project,
    ProjectTerms,
    SignOff,
    Split,
)
from inventory.admin import Shown


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


@admin.register(ConflictOfInterest)
class ConflictOfInterestAdmin(Shown):
    """Who signs nothing of which project; declared and ended on the person's page."""

    list_display = ("person", "project", "during", "declared_by")
    list_select_related = ("person", "project", "declared_by")


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
