"""What leaves the building: a row per event, person and channel, delivered at least once after the decision stands."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from allocations.models.people import Person
from allocations.models.states import new_public_id
from inventory.models import Event


class OutboxMessage(models.Model):
    """A message to one person. Written by services in their transaction; delivered by `allocations.outbox`.

    `public_id` goes out with it, so that a receiver can drop a repeat.
    """

    class Channel(models.TextChoices):
        MAIL = "mail", _("mail")

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
