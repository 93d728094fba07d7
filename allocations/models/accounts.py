"""Who somebody is on the nodes, and whom a project lets onto its GPUs there."""

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeOperators
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from allocations.models.people import Person, Project


class UnixAccount(models.Model):
    """A person's account on the nodes of a realm (those that share one list of users); by admins and imports.

    Nodes name theirs by the label `realm`; "" is that of nodes that name none.
    """

    person = models.ForeignKey(Person, models.PROTECT, related_name="unix_accounts")
    realm = models.CharField(_("realm"), max_length=60, blank=True)
    uid = models.PositiveBigIntegerField(_("Unix id"))
    login = models.CharField(_("login"), max_length=60)
    during = DateTimeRangeField(_("during"))

    class Meta:
        ordering = ["pk"]
        verbose_name = _("Unix account")
        verbose_name_plural = _("Unix accounts")
        constraints = [
            # 2^32 - 1 means "no user" to the kernel; root needs no permission.
            models.CheckConstraint(name="unix_uid_of_a_user", condition=Q(uid__gt=0, uid__lt=2**32 - 1)),
            ExclusionConstraint(
                name="unix_uid_of_one_person",
                expressions=[
                    (F("realm"), RangeOperators.EQUAL),
                    (F("uid"), RangeOperators.EQUAL),
                    (F("during"), RangeOperators.OVERLAPS),
                ],
            ),
            ExclusionConstraint(
                name="unix_one_account_a_realm",
                expressions=[
                    (F("realm"), RangeOperators.EQUAL),
                    (F("person"), RangeOperators.EQUAL),
                    (F("during"), RangeOperators.OVERLAPS),
                ],
            ),
        ]

    def __str__(self) -> str:
        return self.login


class ProjectAccess(models.Model):
    """The Unix ids that a project lets onto its GPUs in a realm; written by `allocations.access` when they change.

    `revision` grows with each change: a leaver goes from the nodes without a new generation.
    """

    project = models.ForeignKey(Project, models.PROTECT, related_name="access")
    realm = models.CharField(_("realm"), max_length=60, blank=True)
    unix_ids = models.JSONField(_("Unix ids"), default=list)
    revision = models.BigIntegerField(_("revision"), default=1)
    changed_at = models.DateTimeField(_("changed at"))

    class Meta:
        ordering = ["pk"]
        verbose_name = _("access of a project")
        verbose_name_plural = _("access of projects")
        constraints = [models.UniqueConstraint(name="access_once_a_realm", fields=["project", "realm"])]

    def __str__(self) -> str:
        return f"{self.project}: {len(self.unix_ids)}"
