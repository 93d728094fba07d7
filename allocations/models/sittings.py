"""What deciding needs around it: saved scenarios, when somebody last looked, days without work, head-counts."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from allocations.models.people import Division, Person
from allocations.models.states import new_public_id


class Scenario(models.Model):
    """Marks on the desk that somebody saved for a decider to open; it decides nothing."""

    public_id = models.UUIDField(unique=True, default=new_public_id, editable=False)
    name = models.CharField(_("name"), max_length=120)
    note = models.TextField(_("note"), blank=True)
    by = models.ForeignKey(Person, models.PROTECT, related_name="scenarios", verbose_name=_("saved by"))
    saved_at = models.DateTimeField(_("saved at"))
    place = models.CharField(_("place"), max_length=200, blank=True, help_text=_("the desk's filter, as its address"))
    marks = models.JSONField(_("marks"), default=dict)
    dropped_at = models.DateTimeField(_("dropped at"), null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("scenario")
        verbose_name_plural = _("scenarios")

    def __str__(self) -> str:
        return self.name


class LastLook(models.Model):
    """When a person last said that a page's news were seen."""

    person = models.ForeignKey(Person, models.CASCADE, related_name="looks")
    page = models.CharField(_("page"), max_length=40)
    at = models.DateTimeField(_("at"))

    class Meta:
        constraints = [models.UniqueConstraint(name="last_look_once", fields=["person", "page"])]

    def __str__(self) -> str:
        return f"{self.person}: {self.page}"


class Holiday(models.Model):
    """A day on which nothing falls due, at the whole site or in one division; written by admins."""

    on = models.DateField(_("day"))
    name = models.CharField(_("name"), max_length=80)
    division = models.ForeignKey(Division, models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ["on"]
        verbose_name = _("holiday")
        verbose_name_plural = _("holidays")
        constraints = [models.UniqueConstraint(name="holiday_once", fields=["on", "division"], nulls_distinct=False)]

    def __str__(self) -> str:
        return f"{self.on}: {self.name}"


class HeadCount(models.Model):
    """How many people a division counts from a day on; figures per researcher divide by it. Written by admins."""

    division = models.ForeignKey(Division, models.PROTECT, related_name="head_counts")
    starts_on = models.DateField(_("from"))
    people = models.PositiveIntegerField(_("people"))

    class Meta:
        ordering = ["division_id", "-starts_on"]
        verbose_name = _("head-count")
        verbose_name_plural = _("head-counts")
        constraints = [models.UniqueConstraint(name="head_count_once_a_day", fields=["division", "starts_on"])]

    def __str__(self) -> str:
        return f"{self.division}: {self.people}"
