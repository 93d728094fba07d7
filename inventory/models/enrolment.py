"""How a node comes to be believed."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from inventory.models.hardware import Node


class JoinCode(models.Model):
    """A code by which one node's agent joins, once; only its SHA-256 is kept. Written by `inventory.enrolment`."""

    node = models.ForeignKey(Node, models.PROTECT, related_name="join_codes")
    code_sha256 = models.CharField(max_length=64, unique=True)
    made_by = models.CharField(_("made by"), max_length=150)
    made_at = models.DateTimeField(_("made at"))
    expires_at = models.DateTimeField(_("expires at"))
    used_at = models.DateTimeField(_("used at"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("join code")
        verbose_name_plural = _("join codes")
        constraints = [
            models.CheckConstraint(name="join_code_used_or_revoked", condition=Q(used_at=None) | Q(revoked_at=None))
        ]

    def __str__(self) -> str:
        return f"{self.node}"
