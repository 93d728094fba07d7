"""What a GPU does, judged from its readings."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from inventory.models.hardware import Gpu


class Activity(models.Model):
    """What a GPU does now and since when, judged over a window; written by `inventory.judging`.

    `since` is when the state began as far as valid readings show it; a gap or a restart begins it anew.
    """

    class State(models.TextChoices):
        EMPTY = "empty", _("empty")
        HELD_IDLE = "held_idle", _("held idle")
        LOW = "low", _("low")
        ACTIVE = "active", _("active")
        GHOST = "ghost", _("ghost")
        HUNG = "hung", _("hung")
        UNKNOWN = "unknown", _("unknown")

    gpu = models.OneToOneField(Gpu, models.CASCADE, primary_key=True, related_name="activity")
    state = models.CharField(_("state"), max_length=9, choices=State, default=State.UNKNOWN)
    since = models.DateTimeField(_("since"))
    judged_at = models.DateTimeField(_("judged at"))
    holder = models.CharField(_("holder in that time"), max_length=80, blank=True)
    coverage_pct = models.FloatField(_("valid readings in % of those due"))
    util_mean_pct = models.FloatField(_("mean use in %"), null=True)
    util_max_pct = models.FloatField(_("highest use in %"), null=True)
    power_mean_w = models.FloatField(_("mean power in W"), null=True)
    idle_power_w = models.FloatField(_("learned idle power in W"), null=True)
    why = models.CharField(_("why"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("activity")
        verbose_name_plural = _("activities")
        indexes = [models.Index(name="activity_by_state", fields=["state", "since"])]

    def __str__(self) -> str:
        return f"{self.gpu_id}: {self.state}"
