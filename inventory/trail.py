"""The trail: record an event in the open transaction; seal events into a hash chain, verify it, export it."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, models, transaction
from django.db.models import F, OuterRef, Subquery
from django.utils import timezone

from inventory.models import Event, EventSeal

SEAL_BATCH = 2_000  # events sealed in one transaction: some 0.2 s of work
SEAL_LOCK = 0x5EA1  # advisory lock: one sealer at a time, however many beats run
GENESIS = "0" * 64
EXPORT_BATCH = 500  # events read at once for an export: some hundred kB, whatever the trail's length
SEALED_FIELDS = (
    "at", "verb", "subject_kind", "subject_id", "subject_label", "actor", "actor_id", "reason", "facts"
)  # fmt: skip


@dataclass(frozen=True)
class Break:
    """The first row at which the chain does not hold; `at` as in the event, "" where nothing says it."""

    position: int
    event: int | None = None
    verb: str = ""
    at: str = ""


def record(verb: str, subject: models.Model, *, by: object, reason: str = "", label: str = "", **facts: Any) -> Event:
    """Write that `verb` happened to `subject` in the open transaction; `by` is a person or the name of a part.

    `label`: what the trail calls a subject whose own name is not for all who read the trail.
    """
    assert connection.in_atomic_block, "an event belongs to the transaction of its change"
    return Event.objects.create(**_fields(verb, subject, by=by, reason=reason, facts=facts, label=label))


def record_many(
    verb: str, subjects: Iterable[tuple[models.Model, dict[str, Any]]], *, by: object, reason: str = ""
) -> list[Event]:
    """Write one event for each (subject, facts), in one statement; the events in that order."""
    assert connection.in_atomic_block, "an event belongs to the transaction of its change"
    return Event.objects.bulk_create(
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
    found = first_break()
    return found.position if found else None


def first_break() -> Break | None:
    """The row of the first seal that does not match its event and predecessor; None when the chain is whole."""
    digest = GENESIS
    chain = EventSeal.objects.select_related("event").order_by("position")
    for expected, sealed in enumerate(chain.iterator(chunk_size=SEAL_BATCH), start=1):
        event = sealed.event
        digest = _link(digest, event)
        if sealed.position != expected or sealed.digest != digest:
            return Break(expected, event.pk, event.verb, event.at.isoformat())
    return None


def exported_after(events: models.QuerySet[Event], position: int) -> list[tuple[int, str]]:
    """(position, JSON line) of the next sealed ones of `events` in the chain's order, EXPORT_BATCH at most.

    A line holds all that its seal covers, with the digest before it, so that it can be checked without the others.
    """
    before = EventSeal.objects.filter(position=OuterRef("seal__position") - 1).values("digest")
    rows = events.filter(seal__position__gt=position).annotate(
        position=F("seal__position"), digest=F("seal__digest"), previous=Subquery(before)
    )
    names = ["position", "digest", "previous", "pk", *SEALED_FIELDS]
    lines = []
    for row in rows.order_by("position").values(*names)[:EXPORT_BATCH]:
        row |= {"id": row.pop("pk"), "at": row["at"].isoformat(), "previous": row["previous"] or GENESIS}
        lines.append((row["position"], json.dumps(row)))
    return lines


def first_break_in(lines: Iterable[str]) -> tuple[int, Break | None]:
    """How many lines of an export hold, and the first that does not: by its own seal, its predecessor or our seals."""
    held, last = 0, (0, GENESIS)
    for line in lines:
        row = json.loads(line)
        found = Break(row["position"], row["id"], row["verb"], row["at"])
        follows = row["previous"] == last[1] if row["position"] == last[0] + 1 else row["position"] > last[0]
        content = [row["previous"], row["id"], *(row[name] for name in SEALED_FIELDS)]
        ours = EventSeal.objects.filter(position=row["position"], event=row["id"], digest=row["digest"])
        if not follows or _digest(content) != row["digest"] or not ours.exists():
            return held, found
        held, last = held + 1, (row["position"], row["digest"])
    return held, None


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
    said = {name: getattr(event, name) for name in SEALED_FIELDS} | {"at": event.at.isoformat()}
    return _digest([previous, event.pk, *said.values()])


def _digest(content: list[Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
