"""How the fleet is shared: the split, its percents, weights and signatures."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from allocations.models.people import Division, Person, Role, Signature
from allocations.models.states import StateQuerySet, new_public_id
from inventory.models import GpuModel


class Share(models.Model):
    """A division's share of a GPU model: no number in it, the one row that promises against that share lock."""

    division = models.ForeignKey(Division, models.PROTECT, related_name="shares")
    model = models.ForeignKey(GpuModel, models.PROTECT, related_name="shares")

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(name="share_once", fields=["division", "model"])]

    def __str__(self) -> str:
        return f"{self.division}: {self.model}"


class Split(models.Model):
    """How the fleet is shared between the divisions from an instant on; written by `allocations.splits`.

    In force is the signed split with the latest `starts_at` that has come; of two on one instant the one signed later.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed", _("waits for signatures")
        SIGNED = "signed", _("signed")
        WITHDRAWN = "withdrawn", _("withdrawn")

    NEXT = {State.PROPOSED: {State.SIGNED, State.WITHDRAWN}, State.SIGNED: set(), State.WITHDRAWN: set()}

    public_id = models.UUIDField(unique=True, default=new_public_id, editable=False)
    starts_at = models.DateTimeField(_("in force from"))
    reason = models.TextField(_("why"), blank=True)
    state = models.CharField(_("state"), max_length=9, choices=State, default=State.PROPOSED)
    proposed_by = models.ForeignKey(Person, models.PROTECT, related_name="+", verbose_name=_("proposed by"))
    proposed_at = models.DateTimeField(_("proposed at"))
    signed_at = models.DateTimeField(_("signed at"), null=True, blank=True)
    roles = models.ManyToManyField(Role, related_name="+", verbose_name=_("roles that must sign"))

    objects = StateQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("split")
        verbose_name_plural = _("splits")
        constraints = [
            models.CheckConstraint(
                name="split_signed_says_when",
                condition=Q(state="signed", signed_at__isnull=False) | (~Q(state="signed") & Q(signed_at=None)),
            )
        ]

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d}"


class SplitLine(models.Model):
    """A division's percent of a GPU model; the line without model is the default. What is left is the reserve."""

    split = models.ForeignKey(Split, models.CASCADE, related_name="lines")
    division = models.ForeignKey(Division, models.PROTECT, related_name="+")
    model = models.ForeignKey(GpuModel, models.PROTECT, null=True, blank=True, related_name="+")
    percent = models.DecimalField(_("percent"), max_digits=5, decimal_places=2)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                name="split_line_once", fields=["split", "division", "model"], nulls_distinct=False
            ),
            models.CheckConstraint(name="split_line_percent", condition=Q(percent__gte=0, percent__lte=100)),
        ]

    def __str__(self) -> str:
        return f"{self.division}: {self.percent} %"


class SplitWeight(models.Model):
    """What a GPU-hour of a model counts against those of the others; signed with the split."""

    split = models.ForeignKey(Split, models.CASCADE, related_name="weights")
    model = models.ForeignKey(GpuModel, models.PROTECT, related_name="+")
    weight = models.DecimalField(_("weight"), max_digits=6, decimal_places=3)

    class Meta:
        ordering = ["model__name"]
        constraints = [
            models.UniqueConstraint(name="split_weight_once", fields=["split", "model"]),
            models.CheckConstraint(name="split_weight_positive", condition=Q(weight__gt=0)),
        ]

    def __str__(self) -> str:
        return f"{self.model}: {self.weight}"


class SplitSignature(Signature):
    """One role's signature under a split; written by `allocations.splits`."""

    split = models.ForeignKey(Split, models.PROTECT, related_name="signatures")

    class Meta(Signature.Meta):
        constraints = [
            models.UniqueConstraint(name="split_signed_once_a_role", fields=["split", "role"]),
            models.UniqueConstraint(name="split_signed_once_a_person", fields=["split", "person"]),
        ]
