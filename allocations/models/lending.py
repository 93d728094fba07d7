"""What stands beside the signed split: exceptions above it, and loans between projects."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from allocations.models.grants import Grant
from allocations.models.people import Division, Person, Project, Role, Signature
from allocations.models.pitches import Pitch
from allocations.models.states import StateQuerySet, new_public_id
from inventory.models import GpuModel


class SplitException(models.Model):
    """GPUs of a model above a division's share for a time; holds only with every signature, ends on its instant.

    One that came with a pitch above the share (`pitch`) was signed with it. `renews` names the one that it follows.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed", _("waits for signatures")
        SIGNED = "signed", _("signed")
        WITHDRAWN = "withdrawn", _("withdrawn")

    NEXT = {
        State.PROPOSED: {State.SIGNED, State.WITHDRAWN},
        State.SIGNED: {State.WITHDRAWN},  # with the last signature of its pitch that is taken back
        State.WITHDRAWN: set(),
    }

    public_id = models.UUIDField(unique=True, default=new_public_id, editable=False)
    division = models.ForeignKey(Division, models.PROTECT, related_name="exceptions", verbose_name=_("division"))
    model = models.ForeignKey(GpuModel, models.PROTECT, related_name="+", verbose_name=_("GPU model"))
    gpus = models.PositiveIntegerField(_("GPUs above the share"))
    starts_at = models.DateTimeField(_("from"))
    ends_at = models.DateTimeField(_("until"))
    reason = models.TextField(_("why"))
    pitch = models.ForeignKey(Pitch, models.PROTECT, null=True, blank=True, related_name="exceptions")
    renews = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="renewals")
    state = models.CharField(_("state"), max_length=9, choices=State, default=State.PROPOSED)
    proposed_by = models.ForeignKey(Person, models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(_("proposed at"))
    signed_at = models.DateTimeField(_("signed at"), null=True, blank=True)
    roles = models.ManyToManyField(Role, related_name="+", verbose_name=_("roles that must sign"))

    objects = StateQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("exception above the split")
        verbose_name_plural = _("exceptions above the split")
        constraints = [
            models.CheckConstraint(name="exception_some_gpus", condition=Q(gpus__gte=1)),
            models.CheckConstraint(name="exception_has_an_end", condition=Q(ends_at__gt=F("starts_at"))),
            models.CheckConstraint(
                name="exception_signed_says_when",
                condition=Q(state="signed", signed_at__isnull=False) | (~Q(state="signed") & Q(signed_at=None)),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.division}: {self.gpus} x {self.model}"


class ExceptionSignature(Signature):
    """One role's signature under an exception; written by `allocations.exceptions`."""

    exception = models.ForeignKey(SplitException, models.PROTECT, related_name="signatures")

    class Meta(Signature.Meta):
        constraints = [
            models.UniqueConstraint(name="exception_signed_once_a_role", fields=["exception", "role"]),
            models.UniqueConstraint(name="exception_signed_once_a_person", fields=["exception", "person"]),
        ]


class Loan(models.Model):
    """GPUs of a model that one project lends to another until a day, or every night; written by `allocations.loans`.

    It holds once the lender's lead has agreed and every role has signed, and then has a `grant` of the borrower. A
    nightly one (`daily_from`,
    `daily_until`: clock times of the site, may cross midnight) was agreed once for all its nights.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed", _("waits for the lender")
        AGREED = "agreed", _("agreed")
        DECLINED = "declined", _("declined")
        WITHDRAWN = "withdrawn", _("withdrawn")
        RETURNED = "returned", _("returned")

    NEXT = {
        State.PROPOSED: {State.AGREED, State.DECLINED, State.WITHDRAWN},
        State.AGREED: {State.RETURNED},
        State.DECLINED: set(),
        State.WITHDRAWN: set(),
        State.RETURNED: set(),
    }

    public_id = models.UUIDField(unique=True, default=new_public_id, editable=False)
    lender = models.ForeignKey(Project, models.PROTECT, related_name="lends", verbose_name=_("lends"))
    borrower = models.ForeignKey(Project, models.PROTECT, related_name="borrows", verbose_name=_("borrows"))
    model = models.ForeignKey(GpuModel, models.PROTECT, related_name="+", verbose_name=_("GPU model"))
    gpus = models.PositiveIntegerField(_("GPUs"))
    starts_at = models.DateTimeField(_("from"))
    ends_at = models.DateTimeField(_("returned on"))
    daily_from = models.TimeField(_("every day from"), null=True, blank=True)
    daily_until = models.TimeField(_("every day until"), null=True, blank=True)
    reason = models.TextField(_("why"))
    renews = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="renewals")
    grant = models.OneToOneField(
        Grant, models.PROTECT, null=True, blank=True, related_name="loan",
        help_text=_("what the borrower holds it by; the lender's promise counts less for that time"),
    )  # fmt: skip
    state = models.CharField(_("state"), max_length=9, choices=State, default=State.PROPOSED)
    proposed_by = models.ForeignKey(Person, models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(_("proposed at"))
    answered_by = models.ForeignKey(Person, models.PROTECT, null=True, blank=True, related_name="+")
    answered_at = models.DateTimeField(_("answered at"), null=True, blank=True)
    answer_reason = models.TextField(_("reason of the answer"), blank=True)
    reminded_at = models.DateTimeField(_("reminded of the return at"), null=True, blank=True)
    returned_at = models.DateTimeField(_("returned at"), null=True, blank=True)
    roles = models.ManyToManyField(
        Role, related_name="+", blank=True, verbose_name=_("roles that must sign"),
        help_text=_("none, or those who sign the split where it renews another one"),
    )  # fmt: skip

    objects = StateQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("loan")
        verbose_name_plural = _("loans")
        constraints = [
            models.CheckConstraint(name="loan_some_gpus", condition=Q(gpus__gte=1)),
            models.CheckConstraint(name="loan_has_a_return", condition=Q(ends_at__gt=F("starts_at"))),
            models.CheckConstraint(name="loan_between_two", condition=~Q(lender=F("borrower"))),
            models.CheckConstraint(
                name="loan_daily_pair",
                condition=Q(daily_from=None, daily_until=None) | Q(daily_from__isnull=False, daily_until__isnull=False),
            ),
            models.CheckConstraint(
                name="loan_answered_by_somebody",
                condition=Q(state__in=["proposed", "withdrawn"]) | Q(answered_by__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.gpus} x {self.model}: {self.lender} to {self.borrower}"


class LoanSignature(Signature):
    """One role's signature under the renewal of a loan; written by `allocations.loans`."""

    loan = models.ForeignKey(Loan, models.PROTECT, related_name="signatures")

    class Meta(Signature.Meta):
        constraints = [
            models.UniqueConstraint(name="loan_signed_once_a_role", fields=["loan", "role"]),
            models.UniqueConstraint(name="loan_signed_once_a_person", fields=["loan", "person"]),
        ]
