"""People, roles, divisions and projects; ranges are half-open, `[from, until)`."""

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeOperators
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from allocations.models.states import StateQuerySet


class Person(AbstractUser):
    """Somebody who can log in. `time_zone` is the viewer's; empty means the site's."""

    time_zone = models.CharField(_("time zone"), max_length=60, blank=True)
    left_at = models.DateTimeField(_("left at"), null=True, blank=True)

    class Meta:
        verbose_name = _("person")
        verbose_name_plural = _("people")

    @property
    def name(self) -> str:
        """Full name, or the login where there is none."""
        return self.get_full_name() or self.username


def signed_name(person: Person, deputy_for: Person | None) -> str:
    """How a signature names who gave it: "Hugo", or "Hugo for Ingrid" where Hugo stood in for Ingrid."""
    if deputy_for is None:
        return person.name
    return gettext("%(deputy)s for %(principal)s") % {"deputy": person.name, "principal": deputy_for.name}


class Signature(models.Model):
    """One role's answer under something that several sign; `deputy_for` where the person stood in for somebody."""

    role = models.ForeignKey("Role", models.PROTECT, related_name="+")
    person = models.ForeignKey(Person, models.PROTECT, related_name="+")
    deputy_for = models.ForeignKey(Person, models.PROTECT, null=True, blank=True, related_name="+")
    at = models.DateTimeField(_("at"))

    class Meta:
        abstract = True
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.role}"

    @property
    def signer(self) -> str:
        """Who signed, and for whom where it was a deputy; `person` and `deputy_for` are worth loading with the row."""
        return signed_name(self.person, self.deputy_for)


class Division(models.Model):
    """A part of the lab with a share of the fleet; written by admins."""

    slug = models.SlugField(_("slug"), unique=True)
    name = models.CharField(_("name"), max_length=80)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        verbose_name = _("division")
        verbose_name_plural = _("divisions")

    def __str__(self) -> str:
        return self.name


class Role(models.Model):
    """A role that decides or acts; the shipped ones stand in `allocations.defaults`. Written by admins."""

    class Power(models.TextChoices):
        DECIDE = "decide", _("signs what policies name")
        OPERATE = "operate", _("moves hardware")
        AUDIT = "audit", _("reads everything")
        ADMINISTER = "administer", _("people, roles, policies, drivers")

    slug = models.SlugField(_("slug"), unique=True)
    name = models.CharField(_("name"), max_length=80)
    division = models.ForeignKey(Division, models.PROTECT, null=True, blank=True, verbose_name=_("division"))
    power = models.CharField(_("power"), max_length=12, choices=Power)

    class Meta:
        ordering = ["pk"]
        verbose_name = _("role")
        verbose_name_plural = _("roles")

    def __str__(self) -> str:
        return self.name


class RoleHolder(models.Model):
    """Who holds a role and when; written by admins (`allocations.projects` gives and ends roles)."""

    role = models.ForeignKey(Role, models.PROTECT, related_name="holders")
    person = models.ForeignKey(Person, models.PROTECT, related_name="roles")
    during = DateTimeRangeField(_("during"))

    class Meta:
        verbose_name = _("holder of a role")
        verbose_name_plural = _("holders of roles")
        constraints = [
            ExclusionConstraint(
                name="role_held_once",
                expressions=[
                    (F("role"), RangeOperators.EQUAL),
                    (F("person"), RangeOperators.EQUAL),
                    (F("during"), RangeOperators.OVERLAPS),
                ],
            )
        ]

    def __str__(self) -> str:
        return f"{self.person}: {self.role}"


class Deputy(models.Model):
    """Somebody who acts in a role for its holder for a time; written by `allocations.deputies`.

    It gives no role of its own: what the principal may no longer do, the deputy may not do either.
    """

    principal = models.ForeignKey(Person, models.PROTECT, related_name="deputies", verbose_name=_("for"))
    deputy = models.ForeignKey(Person, models.PROTECT, related_name="deputises", verbose_name=_("deputy"))
    role = models.ForeignKey(Role, models.PROTECT, related_name="deputies", verbose_name=_("role"))
    during = DateTimeRangeField(_("during"))
    reason = models.TextField(_("why"), blank=True)
    set_by = models.ForeignKey(Person, models.PROTECT, related_name="+", verbose_name=_("set by"))

    class Meta:
        verbose_name = _("deputy")
        verbose_name_plural = _("deputies")
        constraints = [
            models.CheckConstraint(name="deputy_is_somebody_else", condition=~Q(principal=F("deputy"))),
            ExclusionConstraint(
                name="deputy_one_at_a_time",
                expressions=[
                    (F("principal"), RangeOperators.EQUAL),
                    (F("role"), RangeOperators.EQUAL),
                    (F("during"), RangeOperators.OVERLAPS),
                ],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.deputy} for {self.principal}"


class Project(models.Model):
    """Work that holds GPUs. State is written by `allocations.projects`; the slug is the holder's name on the nodes."""

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        WINDING_DOWN = "winding_down", _("winding down")
        ENDED = "ended", _("ended")

    NEXT = {
        State.ACTIVE: {State.WINDING_DOWN, State.ENDED},
        State.WINDING_DOWN: {State.ACTIVE, State.ENDED},
        State.ENDED: set(),
    }

    slug = models.SlugField(_("slug"), max_length=80, unique=True)
    name = models.CharField(_("name"), max_length=120)
    division = models.ForeignKey(Division, models.PROTECT, related_name="projects", verbose_name=_("division"))
    lead = models.ForeignKey(Person, models.PROTECT, related_name="leads", verbose_name=_("lead"))
    state = models.CharField(_("state"), max_length=14, choices=State, default=State.ACTIVE)
    wind_down_reason = models.TextField(_("why it winds down"), blank=True)
    releases_at = models.DateTimeField(_("promised release"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)

    objects = StateQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        verbose_name = _("project")
        verbose_name_plural = _("projects")
        permissions = [("pitch_for_project", "Can pitch for the project"), ("lead_project", "Answers for the project")]
        constraints = [
            models.CheckConstraint(
                name="project_winding_down_says_when", condition=~Q(state="winding_down") | Q(releases_at__isnull=False)
            ),
            models.CheckConstraint(
                name="project_ended_says_when",
                condition=Q(state="ended", ended_at__isnull=False) | (~Q(state="ended") & Q(ended_at=None)),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """Who works in a project and when; written by `allocations.projects`, which keeps permissions in step."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="memberships")
    person = models.ForeignKey(Person, models.PROTECT, related_name="memberships")
    during = DateTimeRangeField(_("during"))

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        constraints = [
            ExclusionConstraint(
                name="member_once",
                expressions=[
                    (F("project"), RangeOperators.EQUAL),
                    (F("person"), RangeOperators.EQUAL),
                    (F("during"), RangeOperators.OVERLAPS),
                ],
            )
        ]

    def __str__(self) -> str:
        return f"{self.person} in {self.project}"


class ProjectTerms(models.Model):
    """Guarantee, protection, quota and priority of a project for a time; signed by a decider of its division."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="terms")
    during = DateTimeRangeField(_("during"))
    guarantee_gpus = models.PositiveIntegerField(_("guaranteed GPUs"), default=0)
    protected = models.BooleanField(_("protected"), default=False)
    quota_gpus = models.PositiveIntegerField(_("quota of GPUs"), null=True, blank=True)
    priority = models.SmallIntegerField(_("priority"), default=0)
    reason = models.TextField(_("why"), blank=True)
    signed_by = models.ForeignKey(Person, models.PROTECT, related_name="+", verbose_name=_("signed by"))
    signed_at = models.DateTimeField(_("signed at"), auto_now_add=True)

    class Meta:
        verbose_name = _("terms of a project")
        verbose_name_plural = _("terms of projects")
        constraints = [
            ExclusionConstraint(
                name="terms_one_at_a_time",
                expressions=[(F("project"), RangeOperators.EQUAL), (F("during"), RangeOperators.OVERLAPS)],
            )
        ]

    def __str__(self) -> str:
        return f"{self.project}"
