"""Pitches: what is asked for, and which roles must sign."""

from django.contrib.postgres.indexes import GinIndex
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from allocations.models.people import Person, Project, Role
from allocations.models.states import StateQuerySet, new_public_id
from allocations.models.terms import Terms
from inventory.models import GpuModel

LONGEST_DAYS = 730  # two years; nobody promises hardware beyond its depreciation


class Pitch(models.Model):
    """An ask for GPUs. Written by `allocations.pitches`; state changes by `advance` only.

    `round` counts the terms on the table: a signer who approves fewer GPUs opens the next round, and all sign the same.
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        SUBMITTED = "submitted", _("waits for signatures")
        CHANGES = "changes", _("waits for changes")
        OFFERED = "offered", _("waits for the pitcher's answer")
        WAITLISTED = "waitlisted", _("on the waitlist")
        GRANTED = "granted", _("granted")
        DECLINED = "declined", _("declined")
        WITHDRAWN = "withdrawn", _("withdrawn")

    NEXT = {
        State.DRAFT: {State.SUBMITTED, State.WITHDRAWN},
        State.SUBMITTED: {
            State.CHANGES,
            State.OFFERED,
            State.WAITLISTED,
            State.GRANTED,
            State.DECLINED,
            State.WITHDRAWN,
        },
        State.CHANGES: {State.SUBMITTED, State.WAITLISTED, State.WITHDRAWN},
        State.OFFERED: {State.SUBMITTED, State.WAITLISTED, State.GRANTED, State.WITHDRAWN},
        State.WAITLISTED: {
            State.SUBMITTED,
            State.CHANGES,
            State.OFFERED,
            State.GRANTED,
            State.DECLINED,
            State.WITHDRAWN,
        },
        # Back to the signers: an answer that was undone before anything left the building.
        State.GRANTED: {State.SUBMITTED, State.WAITLISTED},
        State.DECLINED: {State.SUBMITTED, State.WAITLISTED},
        State.WITHDRAWN: set(),
    }
    # What a locked pitch has at hand.
    LASTING = ("model", "offered_model", "pitcher")
    # Somebody's signature can still be given.
    SIGNABLE = [State.SUBMITTED, State.WAITLISTED]
    # Nobody has decided it yet, whoever it waits for.
    OPEN = [State.SUBMITTED, State.CHANGES, State.OFFERED, State.WAITLISTED]

    class CountsFrom(models.TextChoices):
        START = "start", _("the promised start")
        DELIVERY = "delivery", _("delivery of the minimum")

    public_id = models.UUIDField(unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="pitches", verbose_name=_("project"))
    pitcher = models.ForeignKey(Person, models.PROTECT, related_name="pitches", verbose_name=_("pitched by"))
    title = models.CharField(_("title"), max_length=140)
    why = models.TextField(_("why"))
    expected_result = models.TextField(_("expected result"), blank=True)
    check_on = models.DateField(_("result checked on"), null=True, blank=True)
    if_declined = models.TextField(_("what happens if declined"), blank=True)
    model = models.ForeignKey(GpuModel, models.PROTECT, related_name="+", verbose_name=_("GPU model"))
    ideal_gpus = models.PositiveIntegerField(_("ideal GPUs"), validators=[MinValueValidator(1)])
    min_gpus = models.PositiveIntegerField(_("minimum GPUs"), validators=[MinValueValidator(1)])
    whole_nodes = models.BooleanField(_("whole nodes"), default=False)
    one_island = models.BooleanField(_("one island"), default=False)
    required_labels = models.JSONField(
        _("required node labels"), default=dict, blank=True, help_text=_("label -> value, all of them")
    )
    start_on = models.DateField(_("first day"))
    start_until = models.DateField(
        _("first day at the latest"), null=True, blank=True, help_text=_("empty: on the first day")
    )
    days = models.PositiveIntegerField(
        _("length in days"), validators=[MinValueValidator(1), MaxValueValidator(LONGEST_DAYS)]
    )
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.DRAFT)
    round = models.PositiveSmallIntegerField(_("round"), default=1)
    offered_gpus = models.PositiveIntegerField(
        _("GPUs on the table"), help_text=_("what this round signs; at first the ideal")
    )
    offered_model = models.ForeignKey(
        GpuModel, models.PROTECT, null=True, blank=True, related_name="+", help_text=_("empty: as asked")
    )
    offered_start_on = models.DateField(_("first day on the table"), null=True, blank=True)
    offered_days = models.PositiveIntegerField(_("days on the table"), null=True, blank=True)
    offered_at = models.DateTimeField(_("offered at"), null=True, blank=True)
    answer_due_at = models.DateTimeField(_("pitcher's answer due"), null=True, blank=True)
    answer_reminded_at = models.DateTimeField(_("pitcher reminded at"), null=True, blank=True)
    waitlist_rank = models.PositiveIntegerField(_("rank on the waitlist"), null=True, blank=True)
    is_over_share = models.BooleanField(
        _("above the share"), default=False, help_text=_("frozen at submission: then more roles sign")
    )
    is_fast_lane = models.BooleanField(_("small ask"), default=False)
    counts_from = models.CharField(
        _("its length counts from"), max_length=8, choices=CountsFrom, default=CountsFrom.START
    )
    findings = models.JSONField(_("findings of an import"), default=list, blank=True)
    imported_from = models.CharField(_("imported from"), max_length=200, blank=True)
    created_at = models.DateTimeField(_("begun at"), auto_now_add=True)
    submitted_at = models.DateTimeField(_("submitted at"), null=True, blank=True)
    decided_at = models.DateTimeField(_("decided at"), null=True, blank=True)
    decided_by = models.ForeignKey(
        Person, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("decided by")
    )
    withdrawn_at = models.DateTimeField(_("withdrawn at"), null=True, blank=True)
    resubmits = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        blank=True,
        related_name="resubmissions",
        verbose_name=_("follows"),
    )
    roles = models.ManyToManyField(
        Role, through="PitchRole", through_fields=("pitch", "role"), verbose_name=_("roles that must sign")
    )

    objects = StateQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("pitch")
        verbose_name_plural = _("pitches")
        indexes = [
            models.Index(name="pitch_by_state", fields=["state", "-id"]),
            GinIndex(name="pitch_title_alike", fields=["title"], opclasses=["gin_trgm_ops"]),
        ]
        constraints = [
            models.CheckConstraint(
                name="pitch_decided_pair",
                condition=Q(decided_at=None, decided_by=None) | Q(decided_at__isnull=False, decided_by__isnull=False),
            ),
            models.CheckConstraint(
                name="pitch_decided_has_decider",
                condition=Q(state__in=["granted", "declined"], decided_by__isnull=False)
                | (~Q(state__in=["granted", "declined"]) & Q(decided_by=None)),
            ),
            models.CheckConstraint(
                name="pitch_submitted_says_when",
                condition=Q(state__in=["draft", "withdrawn"]) | Q(submitted_at__isnull=False),
            ),
            models.CheckConstraint(
                name="pitch_terms",
                condition=Q(min_gpus__gte=1, min_gpus__lte=F("ideal_gpus"), days__gte=1, offered_gpus__gte=1)
                & (Q(offered_model__isnull=False) | Q(offered_gpus__lte=F("ideal_gpus"))),
            ),
            models.CheckConstraint(
                name="pitch_start_window", condition=Q(start_until=None) | Q(start_until__gte=F("start_on"))
            ),
            models.CheckConstraint(
                name="pitch_waitlisted_has_rank", condition=~Q(state="waitlisted") | Q(waitlist_rank__isnull=False)
            ),
            models.CheckConstraint(
                name="pitch_offered_says_when", condition=~Q(state="offered") | Q(offered_at__isnull=False)
            ),
            models.UniqueConstraint(
                name="pitch_imported_once", fields=["imported_from"], condition=~Q(imported_from="")
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def asked(self) -> Terms:
        """What the pitcher asks for, ideally."""
        return Terms(self.model, self.ideal_gpus, self.start_on, self.days)

    @property
    def terms(self) -> Terms:
        """What lies on the table; `model` and `offered_model` are worth loading with the row."""
        return Terms(
            self.offered_model or self.model,
            self.offered_gpus,
            self.offered_start_on or self.start_on,
            self.offered_days or self.days,
        )


class PitchRole(models.Model):
    """A role that must sign a pitch: the policy of the day of submission, frozen into it."""

    pitch = models.ForeignKey(Pitch, models.CASCADE, related_name="needed_roles")
    role = models.ForeignKey(Role, models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField(
        _("position"), default=0, help_text=_("signs after every lower one; equal ones in any order")
    )
    due_at = models.DateTimeField(_("due"), null=True, blank=True)
    escalates_to = models.ForeignKey(Role, models.PROTECT, null=True, blank=True, related_name="+")
    reminded_at = models.DateTimeField(_("reminded at"), null=True, blank=True)
    escalated_at = models.DateTimeField(_("escalated at"), null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(name="pitch_needs_role_once", fields=["pitch", "role"])]

    def __str__(self) -> str:
        return f"{self.pitch}: {self.role}"
