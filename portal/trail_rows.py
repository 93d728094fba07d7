"""The rows of the trail's page: events with who did it by name and where it is; many alike in a row are one."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import groupby

from django.urls import reverse

from allocations.models import Grant, Move, Person, Pitch, Plan, Project, Split
from inventory.models import Event, Node
from portal.trail_words import sentence

# What comes by the dozen from one act.
MANY = ("move.", "gpu.", "node.", "policy.", "role.added", "division.added", "member.joined")
PARTS = {"enrolment", "executor", "survey", "simulate", "demo"}  # what acts without a person


@dataclass
class Row:
    """One event, or many alike: the first stands for them. `address`: the page of what it is about, "" for none."""

    event: Event
    who: str
    said: str
    address: str
    alike: list["Row"] = field(default_factory=list)


def rows_of(events: Collection[Event]) -> list[Row]:
    """The events as rows; a constant number of queries for any number of them."""
    names, addresses = _names(events), _addresses(events)
    rows = [
        Row(
            event=event,
            who=names.get(event.actor_id or 0, event.actor) if event.actor not in PARTS else event.actor,
            said=sentence(event),
            address=addresses.get((event.subject_kind, event.subject_id), ""),
        )
        for event in events
    ]
    return [_folded(list(group)) for _key, group in groupby(rows, _alike)]


def _alike(row: Row) -> tuple[object, ...]:
    event = row.event
    return (event.verb, event.actor) if event.verb.startswith(MANY) else (event.pk,)


def _folded(rows: list[Row]) -> Row:
    first = rows[0]
    first.alike = rows if len(rows) > 1 else []
    return first


def _names(events: Iterable[Event]) -> dict[int, str]:
    keys = {event.actor_id for event in events if event.actor_id}
    people = Person.objects.filter(pk__in=keys)
    return {person.pk: person.name for person in people}


def _addresses(events: Iterable[Event]) -> dict[tuple[str, str], str]:
    keys: dict[str, set[str]] = defaultdict(set)
    for event in events:
        keys[event.subject_kind].add(event.subject_id)
    found: dict[tuple[str, str], str] = {}
    public = {"pitch": (Pitch, "pitch"), "grant": (Grant, "grant"), "plan": (Plan, "plan")}
    for kind, (model, name) in public.items():
        rows = model._default_manager.filter(pk__in=keys[kind]) if keys[kind] else []
        found |= {(kind, str(row.pk)): reverse(name, args=[row.public_id]) for row in rows}  # type: ignore[attr-defined]
    for move in Move.objects.filter(pk__in=keys["move"]).select_related("plan") if keys["move"] else []:
        found["move", str(move.pk)] = reverse("plan", args=[move.plan.public_id])
    for project in Project.objects.filter(pk__in=keys["project"]) if keys["project"] else []:
        found["project", str(project.pk)] = reverse("project", args=[project.slug])
    for node in Node.objects.filter(pk__in=keys["node"]) if keys["node"] else []:
        found["node", str(node.pk)] = reverse("node", args=[node.name])
    for key in keys[Split._meta.model_name or ""]:
        found["split", key] = reverse("split")
    return found
