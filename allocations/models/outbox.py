"""What leaves the building: a row per event, person and channel, delivered at least once after the decision stands."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from allocations.models.people import Person
from allocations.models.states import new_public_id
from inventory.models import Event


class Notice(models.Model):
    """What a person was told, as it stands in the inbox; written by `allocations.notify`, once per event and person."""

    event = models.ForeignKey(Event, models.PROTECT, related_name="notices")
    person = models.ForeignKey(Person, models.PROTECT, related_name="notices")
    subject = models.CharField(max_length=200)
    body = models.TextField()
    path = models.CharField(max_length=300, blank=True, help_text=_("the page that it is about"))
    at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("notice")
        verbose_name_plural = _("notices")
        constraints = [models.UniqueConstraint(name="notice_once", fields=["event", "person"])]
        indexes = [models.Index(name="notice_unread", fields=["person"], condition=models.Q(read_at=None))]

    def __str__(self) -> str:
        return self.subject


class NoticePreference(models.Model):
    """How a person wants to be told outside the portal; no row means by mail, at once. Written by the person.

    Quiet hours are in the person's time zone and may cross midnight.
    """

    person = models.OneToOneField(Person, models.CASCADE, primary_key=True, related_name="notice_preference")
    by_mail = models.BooleanField(_("by mail"), default=True)
    by_chat = models.BooleanField(_("by chat"), default=False)
    chat_url = models.CharField(
        _("chat address"), max_length=400, blank=True, help_text=_("set by admins only: it can reach any host")
    )
    quiet_from = models.TimeField(_("quiet from"), null=True, blank=True)
    quiet_until = models.TimeField(_("quiet until"), null=True, blank=True)

    class Meta:
        verbose_name = _("notice preference")
        verbose_name_plural = _("notice preferences")
        constraints = [
            models.CheckConstraint(
                name="quiet_hours_pair",
                condition=models.Q(quiet_from=None, quiet_until=None)
                | models.Q(quiet_from__isnull=False, quiet_until__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"{self.person}"


class OutboxMessage(models.Model):
    """A message to one person. Written by services in their transaction; delivered by `allocations.outbox`.

    `public_id` goes out with it, so that a receiver can drop a repeat.
    """

    class Channel(models.TextChoices):
        MAIL = "mail", _("mail")
        CHAT = "chat", _("chat")

    public_id = models.UUIDField(unique=True, default=new_public_id, editable=False)
    event = models.ForeignKey(Event, models.PROTECT, related_name="messages")
    person = models.ForeignKey(Person, models.PROTECT, related_name="messages")
    channel = models.CharField(max_length=8, choices=Channel, default=Channel.MAIL)
    subject = models.CharField(max_length=200)
    body = models.TextField()
    not_before = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    sent_at = models.DateTimeField(null=True, blank=True)
    parked_at = models.DateTimeField(
        null=True, blank=True, help_text=_("given up after too many attempts; a person looks")
    )
    fault = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["pk"]
        verbose_name = _("message")
        verbose_name_plural = _("outbox")
        constraints = [models.UniqueConstraint(name="message_once", fields=["event", "person", "channel"])]
        indexes = [
            models.Index(name="message_due", fields=["not_before"], condition=models.Q(sent_at=None, parked_at=None))
        ]

    def __str__(self) -> str:
        return self.subject
