"""What surveys saw: the current reading of each GPU, its history by day, and the daily use."""

from django.db import models
from django.db.models import CompositePrimaryKey, Q
from django.utils.translation import gettext_lazy as _

from inventory.models.hardware import Gpu, Node


class Survey(models.Model):
    """One pass over nodes (all, or a slice of the fleet); written by `inventory.survey` when the pass has ended."""

    started_at = models.DateTimeField(_("started at"))
    finished_at = models.DateTimeField(_("finished at"))
    nodes_asked = models.PositiveIntegerField(_("nodes asked"))
    nodes_answered = models.PositiveIntegerField(_("nodes that answered"))
    gpus_seen = models.PositiveIntegerField(_("GPUs seen"))

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("survey")
        verbose_name_plural = _("surveys")

    def __str__(self) -> str:
        return f"{self.pk}"


class SurveyFault(models.Model):
    """A node that did not answer a survey, with the code why; written by surveys when the fault begins or changes."""

    survey = models.ForeignKey(Survey, models.CASCADE, related_name="faults")
    node = models.ForeignKey(Node, models.PROTECT, related_name="survey_faults")
    code = models.CharField(_("code"), max_length=40)
    detail = models.CharField(_("detail"), max_length=300, blank=True)
    at = models.DateTimeField(_("at"))

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("survey fault")
        verbose_name_plural = _("survey faults")

    def __str__(self) -> str:
        return f"{self.node}: {self.code}"


class ReadingFields(models.Model):
    """One reading of one GPU. Null is unknown, never zero and never idle."""

    requested_at = models.DateTimeField(_("asked at"), help_text=_("the portal's clock when the request began"))
    holder = models.CharField(_("holder as the node says"), max_length=80, null=True)  # noqa: DJ001 - null: unknown
    generation = models.BigIntegerField(_("generation on the device"), default=0)
    draining = models.BooleanField(_("draining"), default=False)
    util_pct = models.FloatField(_("use in %"), null=True)
    mem_used_mib = models.PositiveIntegerField(_("memory used in MiB"), null=True)
    power_w = models.FloatField(_("power in W"), null=True)
    temperature_c = models.FloatField(_("temperature in C"), null=True)
    running = models.PositiveIntegerField(_("processes"), null=True)
    util_peak_pct = models.FloatField(_("highest use since the reading before in %"), null=True)
    engine_pct = models.FloatField(_("busiest video engine in %"), null=True)
    energy_j = models.FloatField(_("energy counter in J"), null=True)

    class Meta:
        abstract = True


class Reading(ReadingFields):
    """The newest reading of a GPU; written by surveys, never older than the one before."""

    gpu = models.OneToOneField(Gpu, models.CASCADE, primary_key=True, related_name="reading")
    # Every poll changes it in every row: a check and an index entry for each would double what storing costs.
    survey = models.ForeignKey(
        Survey, models.SET_NULL, null=True, related_name="+", db_constraint=False, db_index=False
    )
    boot_id = models.CharField(max_length=64)
    sequence = models.BigIntegerField(help_text=_("grows with each answer of one boot of the agent"))
    processes = models.JSONField(
        _("processes"), null=True, help_text=_("pid, user, started_at_s, mem_mib, uid, name, job, zombie, allowed")
    )
    mem_reserved_mib = models.PositiveIntegerField(_("memory kept by the driver in MiB"), null=True)
    power_limit_w = models.FloatField(_("power limit in W"), null=True)
    open_to = models.JSONField(_("Unix ids that may open it, as read back"), null=True)
    access_revision = models.BigIntegerField(_("revision of those ids"), default=0, db_default=0)
    reasons = models.JSONField(_("reasons of unknown values"), default=dict)

    class Meta:
        verbose_name = _("reading")
        verbose_name_plural = _("readings")

    def __str__(self) -> str:
        return f"{self.gpu_id} @ {self.requested_at}"


class ReadingHistory(ReadingFields):
    """Every reading, in one partition a day (UTC); by surveys, dropped by whole days after READINGS_KEPT_DAYS."""

    pk = CompositePrimaryKey("requested_at", "gpu_id")
    gpu = models.ForeignKey(Gpu, models.DO_NOTHING, db_constraint=False, related_name="+")

    class Meta:
        managed = False  # partitioned; made by the first migration
        db_table = "inventory_readinghistory"
        verbose_name = _("reading of the past")
        verbose_name_plural = _("readings of the past")

    def __str__(self) -> str:
        return f"{self.gpu_id} @ {self.requested_at}"


class UsageFields(models.Model):
    """What one GPU did in a holder's hands in one span of time. A gap is unknown, and no value of it is zero."""

    pk = CompositePrimaryKey("begins_at", "gpu_id", "holder")
    begins_at = models.DateTimeField(_("begins at"))
    gpu = models.ForeignKey(Gpu, models.DO_NOTHING, db_constraint=False, related_name="+")
    holder = models.CharField(_("holder"), max_length=80, blank=True)
    valid = models.PositiveIntegerField(_("valid readings"))
    util_min_pct = models.FloatField(null=True)
    util_mean_pct = models.FloatField(null=True)
    util_max_pct = models.FloatField(null=True)
    power_mean_w = models.FloatField(null=True)
    mem_max_mib = models.PositiveIntegerField(null=True)
    busy_s = models.FloatField(_("busy seconds"))
    idle_s = models.FloatField(_("idle seconds"))
    unknown_s = models.FloatField(_("unknown seconds"))

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.gpu_id} @ {self.begins_at}"


class UsageFiveMinutes(UsageFields):
    """Five minutes of a GPU, in one partition a day; rolled up from readings, kept for USAGE_5MIN_KEPT_DAYS."""

    class Meta:
        managed = False
        db_table = "inventory_usage5min"


class UsageHour(UsageFields):
    """An hour of a GPU, in one partition a month; rolled up from five minutes, kept for USAGE_HOURS_KEPT_DAYS."""

    class Meta:
        managed = False
        db_table = "inventory_usagehour"


class UsageDay(models.Model):
    """Seconds of one GPU in one holder's hands on one day (UTC), by what it did; rolled up from hours.

    `holder` is the holder that the node named ("" nobody). A gap between readings counts as unknown, never as idle.
    """

    on = models.DateField(_("day"))
    gpu = models.ForeignKey(Gpu, models.PROTECT, related_name="usage_days")
    holder = models.CharField(_("holder"), max_length=80, blank=True)
    busy_s = models.FloatField(_("busy seconds"), default=0)
    idle_s = models.FloatField(_("idle seconds"), default=0)
    unknown_s = models.FloatField(_("unknown seconds"), default=0)
    util_pct_s = models.FloatField(_("use in % times seconds"), default=0)

    class Meta:
        verbose_name = _("use of a day")
        verbose_name_plural = _("use by day")
        constraints = [
            models.UniqueConstraint(name="usage_one_row", fields=["on", "gpu", "holder"]),
            models.CheckConstraint(
                name="usage_not_negative", condition=Q(busy_s__gte=0, idle_s__gte=0, unknown_s__gte=0)
            ),
        ]
        indexes = [models.Index(name="usage_by_holder", fields=["holder", "on"])]

    def __str__(self) -> str:
        return f"{self.on} {self.gpu_id} {self.holder}"
