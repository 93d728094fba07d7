"""Hardware as declared by imports and people, with the observed marks that surveys keep on it."""

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeOperators
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _


class GpuModel(models.Model):
    """A GPU model; written by imports and by the first survey that meets it."""

    name = models.CharField(_("name"), max_length=80, unique=True)
    memory_mib = models.PositiveIntegerField(_("memory in MiB"), null=True, blank=True)
    tdp_w = models.PositiveIntegerField(_("power limit in W"), null=True, blank=True)
    price_per_gpu_hour = models.DecimalField(
        _("price per GPU-hour"), max_digits=8, decimal_places=2, null=True, blank=True
    )

    class Meta:
        ordering = ["name"]
        verbose_name = _("GPU model")
        verbose_name_plural = _("GPU models")

    def __str__(self) -> str:
        return self.name


class Node(models.Model):
    """A machine with GPUs. Declared by imports and admins; surveys write the observed marks at its end."""

    class Driver(models.TextChoices):
        AGENT = "agent", _("node agent")
        DCGM = "dcgm", _("dcgm-exporter, looked at only")

    class Mode(models.TextChoices):
        OBSERVE = "observe", _("looks only")
        SHADOW = "shadow", _("says what it would revoke")
        ENFORCE = "enforce", _("opens GPUs for their holders only")

    name = models.CharField(_("name"), max_length=120, unique=True)
    site = models.CharField(_("site"), max_length=60, blank=True)
    island = models.CharField(
        _("island"), max_length=80, blank=True, db_index=True, help_text=_("GPUs that share fast links")
    )
    labels = models.JSONField(_("labels"), default=dict, blank=True)
    model = models.ForeignKey(GpuModel, models.PROTECT, related_name="nodes", verbose_name=_("expected GPU model"))
    expected_gpus = models.PositiveSmallIntegerField(_("expected GPUs"))
    driver = models.CharField(_("driver"), max_length=20, choices=Driver, default=Driver.AGENT)
    address = models.URLField(_("address of its agent"), blank=True, help_text=_("empty: not polled"))
    token = models.CharField(_("token"), max_length=120, blank=True)
    certificate_sha256 = models.CharField(_("pinned certificate"), max_length=64, blank=True)
    mode = models.CharField(
        _("wanted mode"),
        max_length=8,
        choices=Mode,
        default=Mode.ENFORCE,
        db_default=Mode.ENFORCE,
        help_text=_("set by ops, island by island"),
    )
    mode_since = models.DateTimeField(_("wanted since"), null=True, blank=True)
    source = models.CharField(_("declared by"), max_length=200, blank=True)
    declared_at = models.DateTimeField(_("declared at"), auto_now_add=True)
    retired_at = models.DateTimeField(_("retired at"), null=True, blank=True)
    answered_at = models.DateTimeField(_("last answered at"), null=True, blank=True)
    silent_since = models.DateTimeField(_("silent since"), null=True, blank=True)
    fault = models.CharField(_("last fault"), max_length=40, blank=True, help_text=_("a code, empty while it answers"))
    boot_id = models.CharField(_("boot id"), max_length=64, blank=True)
    boot_since = models.DateTimeField(
        _("booted"),
        null=True,
        blank=True,
        help_text=_("first answer of this boot: what was seen before counts no more"),
    )
    said_mode = models.CharField(_("mode as it says"), max_length=8, choices=Mode, blank=True, db_default="")
    agent_version = models.CharField(_("version of its agent"), max_length=40, blank=True, db_default="")
    gpu_driver = models.CharField(_("GPU driver"), max_length=40, blank=True, db_default="")
    cards_on_bus = models.PositiveSmallIntegerField(_("cards on the PCI bus"), null=True, blank=True)

    class Meta:
        ordering = ["name"]
        verbose_name = _("node")
        verbose_name_plural = _("nodes")
        constraints = [
            models.CheckConstraint(name="node_silent_has_fault", condition=Q(silent_since=None) | ~Q(fault="")),
        ]

    def __str__(self) -> str:
        return self.name


class Gpu(models.Model):
    """A card or a MIG instance, the unit that is assigned. By surveys; identity is the uuid, the slot is apart."""

    class Kind(models.TextChoices):
        GPU = "gpu", _("card")
        MIG = "mig", _("MIG instance")

    uuid = models.CharField(_("UUID"), max_length=80, unique=True, null=True, blank=True)
    kind = models.CharField(_("kind"), max_length=4, choices=Kind, default=Kind.GPU)
    parent = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="instances", verbose_name=_("card")
    )
    node = models.ForeignKey(Node, models.PROTECT, related_name="gpus", verbose_name=_("node"))
    pci_bus_id = models.CharField(_("PCI bus id"), max_length=32, blank=True)
    model = models.ForeignKey(GpuModel, models.PROTECT, related_name="gpus", verbose_name=_("model"))
    first_seen_at = models.DateTimeField(_("first seen at"))
    lost_at = models.DateTimeField(_("lost since"), null=True, blank=True)
    retired_at = models.DateTimeField(_("retired at"), null=True, blank=True)
    good_polls = models.PositiveSmallIntegerField(
        _("good readings in a row"), default=0, db_default=0, help_text=_("a lost one is back after several")
    )
    minor = models.PositiveSmallIntegerField(_("device number"), null=True, blank=True)
    serial = models.CharField(_("serial number"), max_length=60, blank=True, db_default="")
    unified_memory = models.BooleanField(_("shares the node's memory"), default=False, db_default=False)

    class Meta:
        ordering = ["node_id", "pci_bus_id", "pk"]
        verbose_name = _("GPU")
        verbose_name_plural = _("GPUs")
        constraints = [
            models.CheckConstraint(
                name="gpu_mig_has_parent", condition=Q(kind="gpu", parent=None) | Q(kind="mig", parent__isnull=False)
            ),
            models.UniqueConstraint(
                name="gpu_one_card_per_slot",
                fields=["node", "pci_bus_id"],
                condition=Q(kind="gpu", retired_at=None) & ~Q(pci_bus_id=""),
            ),
        ]

    def __str__(self) -> str:
        return self.uuid or f"{self.node}/{self.pci_bus_id}"


class Cordon(models.Model):
    """A node kept out of use for a while, with the reason; written by ops. A step of healthy capacity."""

    node = models.ForeignKey(Node, models.PROTECT, related_name="cordons", verbose_name=_("node"))
    during = DateTimeRangeField(_("during"))
    reason = models.CharField(_("reason"), max_length=300)

    class Meta:
        verbose_name = _("cordon")
        verbose_name_plural = _("cordons")
        constraints = [
            ExclusionConstraint(
                name="cordon_one_at_a_time",
                expressions=[(F("node"), RangeOperators.EQUAL), (F("during"), RangeOperators.OVERLAPS)],
            )
        ]

    def __str__(self) -> str:
        return f"{self.node}: {self.reason}"
