"""GPUs that are held and do nothing: how long is asked about, what was asked, and what was answered."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from allocations.models.grants import Grant
from allocations.models.people import Division, Person, Project
from allocations.models.states import StateQuerySet, new_public_id

LONGEST_WHY = 300  # letters of why a phase is quiet: a line of a list


class IdlePolicy(models.Model):
    """After how long idle GPUs are asked about; of a project, else of its division, else of the lab. By admins.

    Where no row stands, the defaults of `allocations.defaults` hold.
    """

    project = models.OneToOneField(Project, models.PROTECT, null=True, blank=True, related_name="idle_policy")
    division = models.OneToOneField(Division, models.PROTECT, null=True, blank=True, related_name="idle_policy")
    is_on = models.BooleanField(_("asks at all"), default=True, help_text=_("off for projects that serve"))
    warn_after_min = models.PositiveIntegerField(_("first notice after minutes"))
    again_after_min = models.PositiveIntegerField(_("second notice after minutes"))
    desk_after_min = models.PositiveIntegerField(_("shown to ops after minutes"))
    interactive_h = models.PositiveIntegerField(
        _("not asked about a single GPU for the first hours"),
        default=8,
        help_text=_("a notebook that somebody sits at"),
    )
    reason = models.CharField(_("why"), max_length=300, blank=True)

    class Meta:
        ordering = ["pk"]
        verbose_name = _("idle policy")
        verbose_name_plural = _("idle policies")
        constraints = [
            models.CheckConstraint(name="idle_policy_of_one", condition=Q(project=None) | Q(division=None)),
            models.UniqueConstraint(
                name="idle_policy_of_the_lab", fields=["is_on"], condition=Q(project=None, division=None)
            ),
            models.CheckConstraint(
                name="idle_policy_in_order",
                condition=Q(
                    warn_after_min__gte=1,
                    again_after_min__gte=F("warn_after_min"),
                    desk_after_min__gte=F("again_after_min"),
                ),
            ),
        ]

    def __str__(self) -> str:
        return str(self.project or self.division or _("the lab"))


class IdleCase(models.Model):
    """Idle GPUs of a grant, from the first notice until they work, are kept, or go; written by `allocations.idle`.

    A person acts on it, never the clock: on the desk it is evidence. `kept_until` is the holder's "keep, because".
    """

    class State(models.TextChoices):
        WARNED = "warned", _("asked once")
        ASKED_AGAIN = "again", _("asked twice")
        ON_DESK = "desk", _("shown to ops")
        KEPT = "kept", _("kept, with a reason")
        ENDED = "ended", _("over")

    NEXT = {
        State.WARNED: {State.ASKED_AGAIN, State.KEPT, State.ENDED},
        State.ASKED_AGAIN: {State.ON_DESK, State.KEPT, State.ENDED},
        State.ON_DESK: {State.KEPT, State.ENDED},
        State.KEPT: {State.ENDED},
        State.ENDED: set(),
    }
    OPEN = [State.WARNED, State.ASKED_AGAIN, State.ON_DESK, State.KEPT]

    public_id = models.UUIDField(unique=True, default=new_public_id, editable=False)
    grant = models.ForeignKey(Grant, models.PROTECT, related_name="idle_cases")
    state = models.CharField(_("state"), max_length=6, choices=State, default=State.WARNED)
    gpus = models.PositiveIntegerField(_("idle GPUs"))
    idle_since = models.DateTimeField(_("idle since"))
    evidence = models.JSONField(_("evidence"), default=list, help_text=_("a row a GPU: what its readings showed"))
    warned_at = models.DateTimeField(_("first notice at"))
    again_at = models.DateTimeField(_("second notice at"), null=True, blank=True)
    desk_at = models.DateTimeField(_("shown to ops at"), null=True, blank=True)
    kept_by = models.ForeignKey(Person, models.PROTECT, null=True, blank=True, related_name="+")
    kept_at = models.DateTimeField(_("kept at"), null=True, blank=True)
    kept_until = models.DateTimeField(_("kept until"), null=True, blank=True)
    kept_reason = models.TextField(_("why it is kept"), blank=True)
    ended_at = models.DateTimeField(_("over at"), null=True, blank=True)
    ended_why = models.CharField(_("why it is over"), max_length=20, blank=True)

    objects = StateQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("idle case")
        verbose_name_plural = _("idle cases")
        constraints = [
            models.UniqueConstraint(name="idle_case_open_once", fields=["grant"], condition=~Q(state="ended")),
            models.CheckConstraint(
                name="idle_case_ended_says_when",
                condition=Q(state="ended", ended_at__isnull=False) | (~Q(state="ended") & Q(ended_at=None)),
            ),
            models.CheckConstraint(
                name="idle_case_kept_whole",
                condition=~Q(state="kept")
                | (Q(kept_by__isnull=False, kept_at__isnull=False, kept_until__isnull=False) & ~Q(kept_reason="")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.grant}: {self.gpus}"


class IdlePhase(models.Model):
    """A time in which a project's GPUs may be quiet, said beforehand: a checkpoint, a freeze, a demo that waits."""

    public_id = models.UUIDField(unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="idle_phases")
    starts_at = models.DateTimeField(_("from"))
    ends_at = models.DateTimeField(_("until"))
    reason = models.CharField(_("why"), max_length=LONGEST_WHY)
    declared_by = models.ForeignKey(Person, models.PROTECT, related_name="+")
    declared_at = models.DateTimeField(_("declared at"))

    class Meta:
        ordering = ["starts_at", "pk"]
        verbose_name = _("quiet phase")
        verbose_name_plural = _("quiet phases")
        constraints = [
            models.CheckConstraint(name="idle_phase_has_an_end", condition=Q(ends_at__gt=F("starts_at"))),
            models.CheckConstraint(name="idle_phase_has_reason", condition=~Q(reason="")),
        ]

    def __str__(self) -> str:
        return f"{self.project}: {self.reason}"
