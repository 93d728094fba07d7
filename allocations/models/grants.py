"""Grants: what was promised, and how much it was before."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from allocations.models.people import Person, Project
from allocations.models.pitches import Pitch
from allocations.models.states import new_public_id
from inventory.models import GpuModel


class Grant(models.Model):
    """A promise of whole GPUs of one model to a project from instant to instant; written by `allocations.grants`.

    Promised is not held: until GPUs are assigned to it, it is a need.
    """

    public_id = models.UUIDField(unique=True, default=new_public_id, editable=False)
    pitch = models.OneToOneField(Pitch, models.PROTECT, null=True, blank=True, related_name="grant")
    project = models.ForeignKey(Project, models.PROTECT, related_name="grants", verbose_name=_("project"))
    model = models.ForeignKey(GpuModel, models.PROTECT, related_name="+", verbose_name=_("GPU model"))
    gpus = models.PositiveIntegerField(_("GPUs"))
    whole_nodes = models.BooleanField(_("whole nodes"), default=False)
    one_island = models.BooleanField(_("one island"), default=False)
    required_labels = models.JSONField(_("required node labels"), default=dict, blank=True)
    starts_at = models.DateTimeField(_("from"))
    ends_at = models.DateTimeField(
        _("until"), help_text=_("the promised end, or the earlier end that somebody gave it")
    )
    issued_by = models.ForeignKey(Person, models.PROTECT, related_name="+", verbose_name=_("issued by"))
    issued_at = models.DateTimeField(_("issued at"))
    ended_by = models.ForeignKey(
        Person, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("ended by")
    )
    ended_at = models.DateTimeField(_("ended early at"), null=True, blank=True)
    undone_pitch = models.ForeignKey(
        Pitch, models.PROTECT, null=True, blank=True, related_name="undone_grants",
        help_text=_("whose last signature was undone; the grant was withdrawn with it"),
    )  # fmt: skip
    is_emergency = models.BooleanField(_("emergency"), default=False)
    ratify_by = models.DateTimeField(_("to be ratified by"), null=True, blank=True)
    ratified_at = models.DateTimeField(_("ratified at"), null=True, blank=True)
    counts_from = models.CharField(
        _("its length counts from"), max_length=8, choices=Pitch.CountsFrom, default=Pitch.CountsFrom.START
    )
    delivered_at = models.DateTimeField(_("minimum delivered at"), null=True, blank=True)
    keeps_while_asked = models.BooleanField(
        _("goes on while an extension waits"), default=False, help_text=_("frozen from the policy")
    )

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("grant")
        verbose_name_plural = _("grants")
        constraints = [
            models.CheckConstraint(name="grant_some_gpus", condition=Q(gpus__gte=1)),
            models.CheckConstraint(name="grant_not_backwards", condition=Q(ends_at__gte=F("starts_at"))),
            models.CheckConstraint(
                name="grant_ended_pair",
                condition=Q(ended_at=None, ended_by=None) | Q(ended_at__isnull=False, ended_by__isnull=False),
            ),
            models.CheckConstraint(
                name="grant_emergency_has_deadline", condition=Q(is_emergency=False) | Q(ratify_by__isnull=False)
            ),
            models.CheckConstraint(name="grant_undone_has_no_pitch", condition=Q(undone_pitch=None) | Q(pitch=None)),
        ]
        indexes = [models.Index(name="grant_by_interval", fields=["model", "starts_at", "ends_at"])]

    def __str__(self) -> str:
        return f"{self.gpus} x {self.model} for {self.project}"


class GrantSize(models.Model):
    """How many GPUs a grant promised until an instant, before it was made smaller; written with that change."""

    grant = models.ForeignKey(Grant, models.PROTECT, related_name="earlier_sizes")
    gpus = models.PositiveIntegerField(_("GPUs"))
    until = models.DateTimeField(_("until"))

    class Meta:
        ordering = ["until", "pk"]
        verbose_name = _("earlier size of a grant")
        verbose_name_plural = _("earlier sizes of grants")
        constraints = [models.UniqueConstraint(name="grant_one_size_an_instant", fields=["grant", "until"])]

    def __str__(self) -> str:
        return f"{self.gpus} until {self.until}"
