"""Plan and execution: plans with their steps, the one target, moves, intended assignments, proven holdings."""

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import BigIntegerRangeField, DateTimeRangeField, RangeOperators
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from allocations.models.grants import Grant
from allocations.models.people import Person, Project
from allocations.models.states import StateQuerySet, new_public_id
from inventory.models import Gpu, Survey


class Plan(models.Model):
    """A proposal to move GPUs, written once by `allocations.plans`; commit stamps it and makes its moves.

    `base_generation` is the target's generation that it was made on; `generation` the one its commit made.
    """

    class Purpose(models.TextChoices):
        NEED = "need", _("meets a need")
        RELEASE = "release", _("frees what nobody is entitled to")
        REPAIR = "repair", _("puts drift or a failed move right")
        ADOPT = "adopt", _("accepts what nodes show")
        UNDO = "undo", _("undoes a plan")

    public_id = models.UUIDField(unique=True, default=new_public_id, editable=False)
    purpose = models.CharField(_("purpose"), max_length=8, choices=Purpose)
    grant = models.ForeignKey(
        Grant, models.PROTECT, null=True, blank=True, related_name="plans", verbose_name=_("need")
    )
    inverse_of = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="inverses")
    parent = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="children")
    base_generation = models.BigIntegerField()
    survey = models.ForeignKey(Survey, models.PROTECT, null=True, related_name="+")
    short_gpus = models.PositiveIntegerField(_("GPUs short"), default=0)
    why = models.JSONField(_("why"), default=dict)
    proposed_by = models.ForeignKey(Person, models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField()
    committed_by = models.ForeignKey(Person, models.PROTECT, null=True, blank=True, related_name="+")
    committed_at = models.DateTimeField(null=True, blank=True)
    generation = models.BigIntegerField(null=True, blank=True, unique=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("plan")
        verbose_name_plural = _("plans")
        constraints = [
            models.CheckConstraint(
                name="plan_committed_whole",
                condition=Q(committed_by=None, committed_at=None, generation=None)
                | Q(committed_by__isnull=False, committed_at__isnull=False, generation__isnull=False),
            ),
            models.CheckConstraint(
                name="plan_undo_names_its_plan",
                condition=Q(purpose="undo", inverse_of__isnull=False) | (~Q(purpose="undo") & Q(inverse_of=None)),
            ),
            models.CheckConstraint(
                name="plan_need_names_its_grant", condition=~Q(purpose="need") | Q(grant__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_purpose_display()} {self.pk}"


class Move(models.Model):
    """A GPU on its way to a holder. Commit makes it and alone sets `superseded`; the executor advances all else."""

    class State(models.TextChoices):
        PROPOSED = "proposed", _("proposed")
        NOTICED = "noticed", _("noticed")
        AGREED = "agreed", _("agreed")
        DRAINING = "draining", _("draining")
        SWITCHING = "switching", _("switching")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        SUPERSEDED = "superseded", _("superseded")

    NEXT = {
        State.PROPOSED: {State.NOTICED, State.FAILED, State.SUPERSEDED},
        State.NOTICED: {State.AGREED, State.FAILED, State.SUPERSEDED},
        State.AGREED: {State.DRAINING, State.FAILED, State.SUPERSEDED},
        State.DRAINING: {State.SWITCHING, State.FAILED, State.SUPERSEDED},
        State.SWITCHING: {State.DRAINING, State.DONE, State.FAILED, State.SUPERSEDED},
        State.DONE: set(),
        State.FAILED: set(),
        State.SUPERSEDED: set(),
    }
    OPEN = [State.PROPOSED, State.NOTICED, State.AGREED, State.DRAINING, State.SWITCHING]

    plan = models.ForeignKey(Plan, models.PROTECT, related_name="moves")
    gpu = models.ForeignKey(Gpu, models.PROTECT, related_name="moves")
    from_holder = models.CharField(_("from"), max_length=80, blank=True, help_text=_("project slug, empty: nobody"))
    project = models.ForeignKey(
        Project, models.PROTECT, null=True, blank=True, related_name="moves", verbose_name=_("to")
    )
    grant = models.ForeignKey(Grant, models.PROTECT, null=True, blank=True, related_name="moves")
    generation = models.BigIntegerField()
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.PROPOSED)
    proposed_at = models.DateTimeField()
    noticed_at = models.DateTimeField(null=True, blank=True)
    agreed_at = models.DateTimeField(null=True, blank=True)
    draining_at = models.DateTimeField(null=True, blank=True)
    switched_at = models.DateTimeField(null=True, blank=True, help_text=_("the portal's clock after the node said so"))
    done_at = models.DateTimeField(null=True, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)
    superseded_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0, help_text=_("calls to the node in this state"))
    tried_at = models.DateTimeField(null=True, blank=True)
    running = models.PositiveIntegerField(
        null=True, blank=True, help_text=_("processes that the drain still waits for")
    )
    fault = models.CharField(max_length=40, blank=True, help_text=_("why the last call failed, a code"))

    objects = StateQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        verbose_name = _("move")
        verbose_name_plural = _("moves")
        constraints = [
            models.UniqueConstraint(
                name="move_one_open_per_gpu",
                fields=["gpu"],
                condition=Q(state__in=["proposed", "noticed", "agreed", "draining", "switching"]),
            ),
            models.UniqueConstraint(name="move_once_per_generation", fields=["gpu", "generation"]),
            models.CheckConstraint(
                name="move_done_says_when",
                condition=Q(state="done", done_at__isnull=False, switched_at__isnull=False)
                | (~Q(state="done") & Q(done_at=None)),
            ),
            models.CheckConstraint(
                name="move_superseded_says_when",
                condition=Q(state="superseded", superseded_at__isnull=False)
                | (~Q(state="superseded") & Q(superseded_at=None)),
            ),
            models.CheckConstraint(name="move_grant_has_project", condition=Q(grant=None) | Q(project__isnull=False)),
        ]
        indexes = [
            models.Index(name="move_open", fields=["state"], condition=~Q(state__in=["done", "failed", "superseded"]))
        ]

    def __str__(self) -> str:
        return f"{self.gpu_id} -> {self.project_id}"

    @property
    def to_holder(self) -> str:
        """The holder that the node is told: the project's slug, "" for nobody."""
        return self.project.slug if self.project else ""


class PlanStep(models.Model):
    """What a plan says about one GPU: a new move (which may replace an open one), or that an open move is kept."""

    class Kind(models.TextChoices):
        MOVE = "move", _("moves")
        KEEP = "keep", _("keeps its move")

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="steps")
    gpu = models.ForeignKey(Gpu, models.PROTECT, related_name="+")
    kind = models.CharField(max_length=4, choices=Kind, default=Kind.MOVE)
    source = models.CharField(
        _("source"), max_length=20, help_text=_("the planner's reason code: free, ended, winding_down, ...")
    )
    from_holder = models.CharField(max_length=80, blank=True)
    from_assignment = models.ForeignKey("Assignment", models.PROTECT, null=True, related_name="+")
    project = models.ForeignKey(Project, models.PROTECT, null=True, blank=True, related_name="+")
    grant = models.ForeignKey(Grant, models.PROTECT, null=True, blank=True, related_name="+")
    replaces = models.ForeignKey(Move, models.PROTECT, null=True, blank=True, related_name="+")
    keeps = models.ForeignKey(Move, models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(name="step_once_per_gpu", fields=["plan", "gpu"]),
            models.CheckConstraint(
                name="step_keep_names_its_move",
                condition=Q(kind="keep", keeps__isnull=False) | Q(kind="move", keeps=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.plan_id}: {self.gpu_id}"


class Target(models.Model):
    """The one row that says which plan holds; a commit is a compare-and-set on its generation."""

    generation = models.BigIntegerField(default=0)
    plan = models.ForeignKey(Plan, models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [models.CheckConstraint(name="target_is_one_row", condition=Q(pk=1))]

    def __str__(self) -> str:
        return f"generation {self.generation}"


class Possession(models.Model):
    """A GPU in a project's hands for a time. A card and its MIG instances exclude each other.

    `card_id` and `slice` are set by a trigger from the GPU: a card covers every slice, an instance its own.
    """

    project = models.ForeignKey(Project, models.PROTECT, related_name="%(class)ss")
    gpu = models.ForeignKey(Gpu, models.PROTECT, related_name="%(class)ss")
    grant = models.ForeignKey(Grant, models.PROTECT, null=True, blank=True, related_name="%(class)ss")
    generation = models.BigIntegerField()
    during = DateTimeRangeField(_("during"))
    card_id = models.BigIntegerField(editable=False, default=0)
    slice = BigIntegerRangeField(editable=False, null=True)

    class Meta:
        abstract = True
        constraints = [
            ExclusionConstraint(
                name="%(class)s_one_holder",
                expressions=[
                    (F("card_id"), RangeOperators.EQUAL),
                    (F("slice"), RangeOperators.OVERLAPS),
                    (F("during"), RangeOperators.OVERLAPS),
                ],
            ),
            models.CheckConstraint(name="%(class)s_not_empty", condition=Q(during__isempty=False)),
        ]

    def __str__(self) -> str:
        return f"{self.gpu_id}: {self.project_id}"


class Assignment(Possession):
    """Who is meant to hold a GPU; written at commit only."""

    class Meta(Possession.Meta):
        verbose_name = _("assignment")
        verbose_name_plural = _("assignments")
        indexes = [models.Index(name="assignment_now", fields=["gpu"], condition=Q(during__endswith=None))]


class Holding(Possession):
    """Who held a GPU, proven by readings; written by the executor only."""

    class Meta(Possession.Meta):
        verbose_name = _("holding")
        verbose_name_plural = _("holdings")
