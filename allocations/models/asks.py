"""What a pitch says beside its own columns: alternatives, links, answers to a division's questions, revisions."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from allocations.models.grants import Grant
from allocations.models.people import Division, Person
from allocations.models.pitches import Pitch
from inventory.models import GpuModel


class PitchAlternative(models.Model):
    """Another GPU model that would do, with its own number; the pitcher has accepted it beforehand."""

    pitch = models.ForeignKey(Pitch, models.CASCADE, related_name="alternatives")
    model = models.ForeignKey(GpuModel, models.PROTECT, related_name="+", verbose_name=_("GPU model"))
    gpus = models.PositiveIntegerField(_("GPUs"), validators=[MinValueValidator(1)])
    rank = models.PositiveSmallIntegerField(_("rank"), default=1)

    class Meta:
        ordering = ["rank", "pk"]
        constraints = [
            models.UniqueConstraint(name="alternative_once_a_model", fields=["pitch", "model"]),
            models.CheckConstraint(name="alternative_some_gpus", condition=Q(gpus__gte=1)),
        ]

    def __str__(self) -> str:
        return f"{self.gpus} x {self.model}"


class PitchLink(models.Model):
    """Something to read with the pitch, by its address; Allot keeps no files."""

    pitch = models.ForeignKey(Pitch, models.CASCADE, related_name="links")
    url = models.URLField(_("address"), max_length=500)
    name = models.CharField(_("name"), max_length=140, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(name="link_once", fields=["pitch", "url"])]

    def __str__(self) -> str:
        return self.name or self.url


class Question(models.Model):
    """What a division (every division: None) asks of each pitch besides; written by admins."""

    class Kind(models.TextChoices):
        TEXT = "text", _("text")
        NUMBER = "number", _("number")
        CHOICE = "choice", _("choice")
        DATE = "date", _("date")

    division = models.ForeignKey(Division, models.PROTECT, null=True, blank=True, related_name="questions")
    text = models.CharField(_("question"), max_length=200)
    help = models.CharField(_("help"), max_length=300, blank=True)
    kind = models.CharField(_("kind"), max_length=6, choices=Kind, default=Kind.TEXT)
    choices = models.JSONField(_("choices"), default=list, blank=True, help_text=_("a list of words"))
    is_required = models.BooleanField(_("required"), default=False)
    position = models.PositiveSmallIntegerField(_("position"), default=1)
    ended_at = models.DateTimeField(_("asked no more since"), null=True, blank=True)

    class Meta:
        ordering = ["position", "pk"]
        verbose_name = _("question")
        verbose_name_plural = _("questions")
        constraints = [
            models.CheckConstraint(name="question_choice_has_choices", condition=~Q(kind="choice") | ~Q(choices=[]))
        ]

    def __str__(self) -> str:
        return self.text


class Answer(models.Model):
    """What a pitch says to a question, as text in the form that the question's kind names (dates as ISO days)."""

    pitch = models.ForeignKey(Pitch, models.CASCADE, related_name="answers")
    question = models.ForeignKey(Question, models.PROTECT, related_name="+")
    value = models.TextField(_("answer"))

    class Meta:
        ordering = ["question__position", "question_id"]
        constraints = [models.UniqueConstraint(name="answer_once", fields=["pitch", "question"])]

    def __str__(self) -> str:
        return self.value


class PitchRevision(models.Model):
    """What a pitch said before a round of changes; `said` holds the fields of the ask as people read them."""

    pitch = models.ForeignKey(Pitch, models.CASCADE, related_name="revisions")
    round = models.PositiveSmallIntegerField(_("round"), help_text=_("in which it said this"))
    said = models.JSONField(_("said"))
    by = models.ForeignKey(Person, models.PROTECT, related_name="+")
    at = models.DateTimeField(_("at"))

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(name="revision_once_a_round", fields=["pitch", "round"])]

    def __str__(self) -> str:
        return f"{self.pitch} {self.round}"


class Opened(models.Model):
    """Somebody has had a pitch open on the screen: many decided at once takes large ones only so."""

    pitch = models.ForeignKey(Pitch, models.CASCADE, related_name="opened")
    person = models.ForeignKey(Person, models.CASCADE, related_name="+")
    round = models.PositiveSmallIntegerField(_("round"))
    at = models.DateTimeField(_("at"))

    class Meta:
        constraints = [models.UniqueConstraint(name="opened_once_a_round", fields=["pitch", "person", "round"])]

    def __str__(self) -> str:
        return f"{self.person}: {self.pitch}"


class ResultCheck(models.Model):
    """Did the grant pay off: asked on the day of the check, answered by the pitcher or the lead, shown to approvers."""

    class Outcome(models.TextChoices):
        MET = "met", _("met")
        PARTLY = "partly", _("partly met")
        MISSED = "missed", _("not met")

    grant = models.OneToOneField(Grant, models.PROTECT, related_name="result_check")
    asked_at = models.DateTimeField(_("asked at"))
    outcome = models.CharField(_("outcome"), max_length=6, choices=Outcome, blank=True)
    said = models.TextField(_("in words"), blank=True)
    answered_by = models.ForeignKey(Person, models.PROTECT, null=True, blank=True, related_name="+")
    answered_at = models.DateTimeField(_("answered at"), null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                name="result_answered_whole",
                condition=Q(outcome="", answered_by=None, answered_at=None)
                | (~Q(outcome="") & Q(answered_by__isnull=False, answered_at__isnull=False)),
            )
        ]

    def __str__(self) -> str:
        return f"{self.grant}: {self.outcome or '-'}"
