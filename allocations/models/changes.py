"""Decisions on a grant that runs: extended, made smaller, ended, or, where it was an emergency, ratified."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from allocations.models.grants import Grant
from allocations.models.people import Person, Role, Signature
from allocations.models.states import StateQuerySet, new_public_id


class GrantChange(models.Model):
    """A change that somebody asks for; written by `allocations.changes`. It holds with the last signature.

    `days` of an extension are counted from the grant's end at the moment of the last signature, so that an early one
    loses none. `gpus` is what a smaller grant keeps. The lead answers a shrinking or an end, which decides
    nothing.
    """

    class Kind(models.TextChoices):
        EXTEND = "extend", _("extension")
        SHRINK = "shrink", _("fewer GPUs")
        END = "end", _("end")
        RATIFY = "ratify", _("ratification of an emergency")

    class State(models.TextChoices):
        ASKED = "asked", _("waits for signatures")
        APPROVED = "approved", _("approved")
        DECLINED = "declined", _("declined")
        WITHDRAWN = "withdrawn", _("withdrawn")

    class LeadAnswer(models.TextChoices):
        AGREES = "agrees", _("agrees")
        OBJECTS = "objects", _("objects")

    NEXT = {
        State.ASKED: {State.APPROVED, State.DECLINED, State.WITHDRAWN},
        State.APPROVED: set(),
        State.DECLINED: set(),
        State.WITHDRAWN: set(),
    }

    # Nobody asks for these in the project's own interest: the lead answers, and who proposes may sign.
    LEAD_IS_HEARD = (Kind.SHRINK, Kind.END)

    public_id = models.UUIDField(unique=True, default=new_public_id, editable=False)
    grant = models.ForeignKey(Grant, models.PROTECT, related_name="changes")
    kind = models.CharField(_("kind"), max_length=6, choices=Kind)
    days = models.PositiveIntegerField(_("more days"), null=True, blank=True)
    gpus = models.PositiveIntegerField(_("GPUs that it keeps"), null=True, blank=True)
    takes_effect_at = models.DateTimeField(_("takes effect"), null=True, blank=True)
    reason = models.TextField(_("why"))
    state = models.CharField(_("state"), max_length=9, choices=State, default=State.ASKED)
    asked_by = models.ForeignKey(Person, models.PROTECT, related_name="+", verbose_name=_("asked by"))
    asked_at = models.DateTimeField(_("asked at"))
    due_at = models.DateTimeField(_("answer due"), null=True, blank=True)
    reminded_at = models.DateTimeField(_("reminded at"), null=True, blank=True)
    escalated_at = models.DateTimeField(_("escalated at"), null=True, blank=True)
    decided_by = models.ForeignKey(Person, models.PROTECT, null=True, blank=True, related_name="+")
    decided_at = models.DateTimeField(_("decided at"), null=True, blank=True)
    decided_reason = models.TextField(_("reason of the decision"), blank=True)
    lead_answer = models.CharField(_("the lead"), max_length=7, choices=LeadAnswer, blank=True)
    lead_reason = models.TextField(_("the lead's reason"), blank=True)
    lead_answered_at = models.DateTimeField(_("lead answered at"), null=True, blank=True)
    roles = models.ManyToManyField(Role, related_name="+", verbose_name=_("roles that must sign"))

    objects = StateQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("change of a grant")
        verbose_name_plural = _("changes of grants")
        constraints = [
            models.UniqueConstraint(
                name="change_one_open_a_kind", fields=["grant", "kind"], condition=Q(state="asked")
            ),
            models.CheckConstraint(name="change_extend_has_days", condition=~Q(kind="extend") | Q(days__gte=1)),
            models.CheckConstraint(name="change_shrink_has_gpus", condition=~Q(kind="shrink") | Q(gpus__gte=1)),
            models.CheckConstraint(
                name="change_decided_whole",
                condition=Q(state__in=["approved", "declined"], decided_by__isnull=False, decided_at__isnull=False)
                | Q(state__in=["asked", "withdrawn"], decided_by=None, decided_at=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.grant}"


class ChangeSignOff(Signature):
    """One role's answer to a change of a grant; written by `allocations.changes`, never changed."""

    class Verdict(models.TextChoices):
        APPROVE = "approve", _("approved")
        DECLINE = "decline", _("declined")

    change = models.ForeignKey(GrantChange, models.PROTECT, related_name="sign_offs")
    verdict = models.CharField(_("verdict"), max_length=8, choices=Verdict)
    reason = models.TextField(_("reason"), blank=True)

    class Meta(Signature.Meta):
        constraints = [
            models.UniqueConstraint(name="change_signed_once_a_role", fields=["change", "role"]),
            models.UniqueConstraint(name="change_signed_once_a_person", fields=["change", "person"]),
            models.CheckConstraint(name="change_decline_has_reason", condition=Q(verdict="approve") | ~Q(reason="")),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.verdict}"
