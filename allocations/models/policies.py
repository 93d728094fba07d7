"""Who must sign what: rows that a lab edits; the shipped defaults stand in `allocations.defaults`."""

from django.contrib.postgres.fields import DateTimeRangeField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from allocations.models.people import Division, Role


class Policy(models.Model):
    """Every policy row that fits a pitch or a split adds its roles; written by admins.

    A pitch row holds for its division (every division where none is named) from `min_gpus` and `min_gpu_hours` on.
    """

    class Subject(models.TextChoices):
        PITCH = "pitch", _("pitch")
        SPLIT = "split", _("split")

    subject = models.CharField(_("subject"), max_length=8, choices=Subject)
    division = models.ForeignKey(Division, models.PROTECT, null=True, blank=True, verbose_name=_("division"))
    min_gpus = models.PositiveIntegerField(_("from this many GPUs"), default=0)
    min_gpu_hours = models.PositiveBigIntegerField(_("or this many GPU-hours"), null=True, blank=True)
    during = DateTimeRangeField(_("in force"))
    roles = models.ManyToManyField(Role, through="PolicyRole", verbose_name=_("roles that sign"))

    class Meta:
        ordering = ["subject", "division_id", "min_gpus"]
        verbose_name = _("policy")
        verbose_name_plural = _("policies")
        constraints = [
            models.CheckConstraint(
                name="policy_split_has_no_division", condition=~Q(subject="split") | Q(division=None)
            )
        ]

    def __str__(self) -> str:
        return f"{self.subject} {self.division or ''} {self.min_gpus}+"


class PolicyRole(models.Model):
    """A role that a policy row names."""

    policy = models.ForeignKey(Policy, models.CASCADE, related_name="named_roles")
    role = models.ForeignKey(Role, models.PROTECT, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(name="policy_names_role_once", fields=["policy", "role"])]

    def __str__(self) -> str:
        return f"{self.policy}: {self.role}"
