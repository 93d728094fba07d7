"""The trail: record an event in the open transaction; seal events into a hash chain and verify it."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, models, transaction
from django.utils import timezone

from inventory.models import Event, EventSeal

SEAL_BATCH = 2_000  # events sealed in one transaction: some 0.2 s of work
SEAL_LOCK = 0x5EA1  # advisory lock: one sealer at a time, however many beats run
GENESIS = "0" * 64


def record(verb: str, subject: models.Model, *, by: object, reason: str = "", label: str = "", **facts: Any) -> Event:
    """Write that `verb` happened to `subject` in the open transaction; `by` is a person or the name of a part.

    `label`: what the trail calls a subject whose own name is not for all who read the trail.
    """
    assert connection.in_atomic_block, "an event belongs to the transaction of its change"
    return Event.objects.create(**_fields(verb, subject, by=by, reason=reason, facts=facts, label=label))


def record_many(
    verb: str, subjects: Iterable[tuple[models.Model, dict[str, Any]]], *, by: object, reason: str = ""
) -> None:
    """Write one event for each (subject, facts), in one statement."""
    assert connection.in_atomic_block, "an event belongs to the transaction of its change"
    Event.objects.bulk_create(
        Event(**_fields(verb, subject, by=by, reason=reason, facts=facts)) for subject, facts in subjects
    )


def seal() -> int:
    """Every committed event that has no seal yet gets its link of the chain; how many were sealed in this call."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [SEAL_LOCK])
        if not cursor.fetchone()[0]:
            return 0
        last = EventSeal.objects.order_by("-position").first()
        position, digest = (last.position, last.digest) if last else (0, GENESIS)
        seals = []
        for event in Event.objects.filter(seal=None).order_by("pk")[:SEAL_BATCH]:
            position, digest = position + 1, _link(digest, event)
            seals.append(EventSeal(event=event, position=position, digest=digest))
        EventSeal.objects.bulk_create(seals)
        return len(seals)


def verify() -> int | None:
    """Position of the first seal that does not match its event and predecessor; None when the chain is whole."""
    digest = GENESIS
    chain = EventSeal.objects.select_related("event").order_by("position")
    for expected, sealed in enumerate(chain.iterator(chunk_size=SEAL_BATCH), start=1):
        digest = _link(digest, sealed.event)
        if sealed.position != expected or sealed.digest != digest:
            return expected
    return None


def _fields(
    verb: str, subject: models.Model, *, by: object, reason: str, facts: dict[str, Any], label: str = ""
) -> dict[str, Any]:
    return {
        "at": timezone.now(),
        "verb": verb,
        "subject_kind": subject._meta.model_name,
        "subject_id": str(subject.pk),
        "subject_label": (label or str(subject))[:200],
        "actor": str(by)[:150],
        "actor_id": getattr(by, "pk", None),
        "reason": reason,
        "facts": json.loads(json.dumps(facts, cls=DjangoJSONEncoder)),
    }


def _link(previous: str, event: Event) -> str:
    content = [
        previous, event.pk, event.at.isoformat(), event.verb, event.subject_kind, event.subject_id,
        event.subject_label, event.actor, event.actor_id, event.reason, event.facts,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
