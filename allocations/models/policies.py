"""Who must sign what: rows that a lab edits; the shipped defaults stand in `allocations.defaults`."""

from django.contrib.postgres.fields import DateTimeRangeField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from allocations.models.people import Division, Role
from allocations.models.pitches import Pitch


class Policy(models.Model):
    """Every policy row that fits what is decided adds its roles; written by admins.

    A row holds for its division (every division where none is named) from `min_gpus` or `min_gpu_hours` on, up to both
    maxima. `over_share` rows hold only for what stands above the division's share. A fast lane stands alone: where it
    fits, and the project has room under its cap this month, its roles are all that sign.
    """

    class Subject(models.TextChoices):
        PITCH = "pitch", _("pitch")
        SPLIT = "split", _("split")
        EXTENSION = "extension", _("extension of a grant")
        CHANGE = "change", _("smaller or ended grant")
        EMERGENCY = "emergency", _("emergency grant")
        EXCEPTION = "exception", _("exception above the split")

    subject = models.CharField(_("subject"), max_length=10, choices=Subject)
    division = models.ForeignKey(Division, models.PROTECT, null=True, blank=True, verbose_name=_("division"))
    min_gpus = models.PositiveIntegerField(_("from this many GPUs"), default=0)
    min_gpu_hours = models.PositiveBigIntegerField(_("or this many GPU-hours"), null=True, blank=True)
    max_gpus = models.PositiveIntegerField(_("up to this many GPUs"), null=True, blank=True)
    max_gpu_hours = models.PositiveBigIntegerField(_("and up to this many GPU-hours"), null=True, blank=True)
    over_share = models.BooleanField(_("only above the share"), default=False)
    is_fast_lane = models.BooleanField(_("fast lane for small asks"), default=False)
    cap_gpu_hours = models.PositiveBigIntegerField(
        _("GPU-hours a project and month through the fast lane"), null=True, blank=True
    )
    due_working_days = models.PositiveSmallIntegerField(_("working days to answer"), null=True, blank=True)
    escalates_to = models.ForeignKey(
        Role, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("then this role is told")
    )
    counts_from = models.CharField(
        _("a length counts from"), max_length=8, choices=Pitch.CountsFrom, default=Pitch.CountsFrom.START
    )
    keeps_while_asked = models.BooleanField(
        _("a grant goes on while its extension waits"),
        default=False,
        help_text=_("else it ends on its day, and the extension begins with its approval"),
    )
    during = DateTimeRangeField(_("in force"))
    roles = models.ManyToManyField(Role, through="PolicyRole", verbose_name=_("roles that sign"))

    class Meta:
        ordering = ["subject", "division_id", "min_gpus"]
        verbose_name = _("policy")
        verbose_name_plural = _("policies")
        constraints = [
            models.CheckConstraint(
                name="policy_split_has_no_division", condition=~Q(subject="split") | Q(division=None)
            ),
            models.CheckConstraint(
                name="policy_fast_lane_has_cap", condition=Q(is_fast_lane=False) | Q(cap_gpu_hours__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} {self.division or ''} {self.min_gpus}+"

    def clean(self) -> None:
        """A range that nothing fits, and marks that the subject has no use for, are slips of the keyboard."""
        for lowest, most, name in (
            (self.min_gpus, self.max_gpus, "max_gpus"),
            (self.min_gpu_hours, self.max_gpu_hours, "max_gpu_hours"),
        ):
            if lowest is not None and most is not None and most < lowest:
                raise ValidationError({name: _("Nothing is from %(from)s up to this.") % {"from": lowest}})
        if self.subject != self.Subject.PITCH:
            for name in ("is_fast_lane", "over_share"):
                if getattr(self, name):
                    raise ValidationError({name: _("Only for pitches.")})
        if self.is_fast_lane and self.over_share:
            raise ValidationError({"over_share": _("What is above the share takes no fast lane.")})
        if self.is_fast_lane and self.cap_gpu_hours is None:
            raise ValidationError({"cap_gpu_hours": _("A fast lane has a cap for a project and month.")})


class PolicyRole(models.Model):
    """A role that a policy row names."""

    policy = models.ForeignKey(Policy, models.CASCADE, related_name="named_roles")
    role = models.ForeignKey(Role, models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField(
        _("position"), default=0, help_text=_("signs after every lower one; equal ones in any order")
    )

    class Meta:
        constraints = [models.UniqueConstraint(name="policy_names_role_once", fields=["policy", "role"])]

    def __str__(self) -> str:
        return f"{self.policy}: {self.role}"
