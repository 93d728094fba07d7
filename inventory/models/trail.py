"""The trail: what happened, who did it, why, before and after. Append-only, sealed into a hash chain apart."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class Event(models.Model):
    """One thing that happened. Written by `inventory.trail.record` in the transaction of the change; never changed.

    References are opaque (kind and id), so that facts can write events too and know no decision.
    """

    at = models.DateTimeField(_("at"), db_default=Now())
    verb = models.CharField(_("verb"), max_length=60, help_text=_("noun.verb, such as grant.issued"))
    subject_kind = models.CharField(_("kind of subject"), max_length=40)
    subject_id = models.CharField(_("id of subject"), max_length=60)
    subject_label = models.CharField(_("subject"), max_length=200)
    actor = models.CharField(_("who"), max_length=150, help_text=_("login, or the name of the part that acted"))
    actor_id = models.BigIntegerField(null=True)
    reason = models.TextField(_("why"), blank=True)
    facts = models.JSONField(_("facts"), default=dict, help_text=_("before, after and the numbers"))

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("event")
        verbose_name_plural = _("trail")
        indexes = [
            models.Index(name="event_by_subject", fields=["subject_kind", "subject_id", "-id"]),
            models.Index(name="event_by_verb", fields=["verb", "-id"]),
        ]

    def __str__(self) -> str:
        return f"{self.verb} {self.subject_label}"


class EventSeal(models.Model):
    """A link of the hash chain over events; by one sealer (`inventory.trail.seal`): writers do not queue."""

    event = models.OneToOneField(Event, models.PROTECT, primary_key=True, related_name="seal")
    position = models.BigIntegerField(unique=True)
    digest = models.CharField(max_length=64, help_text=_("SHA-256 over the previous digest and the event"))

    class Meta:
        ordering = ["position"]
        verbose_name = _("seal")
        verbose_name_plural = _("seals")

    def __str__(self) -> str:
        return f"{self.position}"
