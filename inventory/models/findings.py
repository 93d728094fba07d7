"""What is wrong with nodes and GPUs, and who used a GPU without a right."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from inventory.models.hardware import Gpu, Node


class Finding(models.Model):
    """Something wrong with a node (`gpu` null) or a GPU: since when, with the evidence; written by surveys.

    Open until ALLOT_GOOD_POLLS good readings in a row did not show it; a restart of the agent clears nothing by itself.
    """

    class Severity(models.TextChoices):
        NOTE = "note", _("to know")
        WARN = "warn", _("look soon")
        OUT = "out", _("not fit for work")

    node = models.ForeignKey(Node, models.PROTECT, related_name="findings")
    gpu = models.ForeignKey(Gpu, models.PROTECT, null=True, blank=True, related_name="findings")
    code = models.CharField(_("code"), max_length=40)
    severity = models.CharField(_("how bad"), max_length=4, choices=Severity)
    evidence = models.CharField(_("evidence"), max_length=300, blank=True)
    since = models.DateTimeField(_("since"))
    seen_at = models.DateTimeField(_("last seen at"))
    good_polls = models.PositiveSmallIntegerField(_("good readings in a row"), default=0)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)

    class Meta:
        ordering = ["-since", "-pk"]
        verbose_name = _("finding")
        verbose_name_plural = _("findings")
        constraints = [
            models.UniqueConstraint(
                name="finding_open_once",
                fields=["node", "gpu", "code"],
                condition=Q(ended_at=None),
                nulls_distinct=False,
            )
        ]
        indexes = [models.Index(name="finding_open", fields=["severity"], condition=Q(ended_at=None))]

    def __str__(self) -> str:
        return f"{self.gpu or self.node}: {self.code}"


class Intrusion(models.Model):
    """A user on a GPU that was not to be open for them: what enforcement ended, or in shadow mode would have ended."""

    gpu = models.ForeignKey(Gpu, models.PROTECT, related_name="intrusions")
    user = models.CharField(_("user"), max_length=200)
    uid = models.PositiveBigIntegerField(_("Unix id"), null=True, blank=True)
    holder = models.CharField(_("holder at that time"), max_length=80, blank=True)
    mode = models.CharField(_("mode of the node"), max_length=8, choices=Node.Mode)
    names = models.JSONField(_("programs"), default=list)
    first_at = models.DateTimeField(_("first seen at"))
    last_at = models.DateTimeField(_("last seen at"))
    readings = models.PositiveIntegerField(_("readings that show it"), default=1)

    class Meta:
        ordering = ["-last_at", "-pk"]
        verbose_name = _("use without a right")
        verbose_name_plural = _("uses without a right")
        indexes = [models.Index(name="intrusion_by_gpu", fields=["gpu", "-last_at"])]

    def __str__(self) -> str:
        return f"{self.user} on {self.gpu}"
