"""Hardware that is to come."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from inventory.models.hardware import GpuModel
from inventory.models.public_ids import new_public_id


class Arrival(models.Model):
    """GPUs that are to come on a day: they count for promises after it, marked as not there yet. Written by ops."""

    public_id = models.UUIDField(unique=True, default=new_public_id, editable=False)
    model = models.ForeignKey(GpuModel, models.PROTECT, related_name="arrivals", verbose_name=_("GPU model"))
    gpus = models.PositiveIntegerField(_("GPUs"))
    arrives_on = models.DateField(_("in use from"))
    site = models.CharField(_("site"), max_length=60, blank=True)
    island = models.CharField(_("island"), max_length=80, blank=True)
    reason = models.CharField(_("order, or where it is known from"), max_length=300)
    announced_at = models.DateTimeField(_("announced at"))
    arrived_at = models.DateTimeField(_("arrived at"), null=True, blank=True)
    cancelled_at = models.DateTimeField(_("cancelled at"), null=True, blank=True)

    class Meta:
        ordering = ["arrives_on", "pk"]
        verbose_name = _("planned arrival")
        verbose_name_plural = _("planned arrivals")
        constraints = [
            models.CheckConstraint(name="arrival_some_gpus", condition=Q(gpus__gte=1)),
            models.CheckConstraint(name="arrival_ends_once", condition=Q(arrived_at=None) | Q(cancelled_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.gpus} x {self.model} on {self.arrives_on}"
