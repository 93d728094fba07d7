"""What signers answered to a pitch, and who signs nothing of it."""

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeOperators
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from allocations.models.people import Person, Project, Role, signed_name
from allocations.models.pitches import Pitch
from allocations.models.states import new_public_id
from allocations.models.terms import EveryManager, StandingManager
from inventory.models import GpuModel


class SignOff(models.Model):
    """What one role's holder answered to one round of a pitch; written by `allocations.pitches`, never changed.

    `undone_at` alone is set later: taken back within seconds. Such a row is in `every` one, not among those that count.
    """

    class Verdict(models.TextChoices):
        APPROVE = "approve", _("approved")
        DECLINE = "decline", _("declined")
        CHANGES = "changes", _("asked for changes")
        WAITLIST = "waitlist", _("put on the waitlist")

    pitch = models.ForeignKey(Pitch, models.PROTECT, related_name="sign_offs")
    round = models.PositiveSmallIntegerField(_("round"))
    role = models.ForeignKey(Role, models.PROTECT, related_name="sign_offs", verbose_name=_("role"))
    person = models.ForeignKey(Person, models.PROTECT, related_name="sign_offs", verbose_name=_("signed by"))
    verdict = models.CharField(_("verdict"), max_length=8, choices=Verdict)
    gpus = models.PositiveIntegerField(_("GPUs signed for"))
    model = models.ForeignKey(
        GpuModel, models.PROTECT, null=True, blank=True, related_name="+", help_text=_("empty: as asked")
    )
    start_on = models.DateField(_("first day signed for"), null=True, blank=True)
    days = models.PositiveIntegerField(_("days signed for"), null=True, blank=True)
    deputy_for = models.ForeignKey(
        Person, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("as deputy for")
    )
    reason = models.TextField(_("reason"), blank=True)
    at = models.DateTimeField(_("at"))
    undone_at = models.DateTimeField(_("undone at"), null=True, blank=True)

    objects = StandingManager()
    every = EveryManager()

    class Meta:
        ordering = ["pk"]
        verbose_name = _("sign-off")
        verbose_name_plural = _("sign-offs")
        constraints = [
            models.UniqueConstraint(
                name="sign_off_once_a_role", fields=["pitch", "round", "role"], condition=Q(undone_at=None)
            ),
            models.UniqueConstraint(
                name="sign_off_once_a_person", fields=["pitch", "round", "person"], condition=Q(undone_at=None)
            ),
            models.CheckConstraint(
                name="sign_off_refusal_has_reason", condition=Q(verdict__in=["approve", "waitlist"]) | ~Q(reason="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.verdict}"

    @property
    def signer(self) -> str:
        """Who signed, and for whom where it was a deputy; `person` and `deputy_for` are worth loading with the row."""
        return signed_name(self.person, self.deputy_for)


class Recusal(models.Model):
    """Somebody who will not sign a pitch, and why; written by `recusals` and by a hand-over, never taken back."""

    pitch = models.ForeignKey(Pitch, models.PROTECT, related_name="recusals")
    person = models.ForeignKey(Person, models.PROTECT, related_name="recusals")
    reason = models.TextField(_("reason"))
    at = models.DateTimeField(_("at"))

    class Meta:
        ordering = ["pk"]
        verbose_name = _("recusal")
        verbose_name_plural = _("recusals")
        constraints = [
            models.UniqueConstraint(name="recusal_once", fields=["pitch", "person"]),
            models.CheckConstraint(name="recusal_has_reason", condition=~Q(reason="")),
        ]

    def __str__(self) -> str:
        return f"{self.person}: {self.pitch}"


class ConflictOfInterest(models.Model):
    """Somebody who signs nothing of a project while it lasts, and why; written by `recusals`.

    An open end: until it is taken back. What was signed before it began stays signed.
    """

    public_id = models.UUIDField(unique=True, default=new_public_id, editable=False)
    person = models.ForeignKey(Person, models.PROTECT, related_name="conflicts")
    project = models.ForeignKey(Project, models.PROTECT, related_name="conflicts")
    reason = models.TextField(_("reason"))
    during = DateTimeRangeField(_("during"))
    declared_by = models.ForeignKey(Person, models.PROTECT, related_name="+")

    class Meta:
        ordering = ["pk"]
        verbose_name = _("conflict of interest")
        verbose_name_plural = _("conflicts of interest")
        constraints = [
            models.CheckConstraint(name="conflict_has_reason", condition=~Q(reason="")),
            ExclusionConstraint(
                name="conflict_declared_once",
                expressions=[
                    (F("person"), RangeOperators.EQUAL),
                    (F("project"), RangeOperators.EQUAL),
                    (F("during"), RangeOperators.OVERLAPS),
                ],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.person}: {self.project}"
