"""What several cases do: a promise made the public way, the clock on a wall, a row as somebody else reads it."""

from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

from django.urls import reverse

from allocations.models import Grant, Person, Pitch
from tests.allocations.acts import approve, submit


def at_wall(zone: str, day: date, hour: int = 0, minute: int = 0) -> datetime:
    """The instant (UTC) at which the clock there shows that; of two, the first."""
    return datetime.combine(day, time(hour, minute), ZoneInfo(zone)).astimezone(UTC)


def signed(world, pitch: Pitch, **terms) -> Pitch:
    """Research's two roles have signed what lies on the table, or these terms."""
    approve(world, pitch, world.chief, "chief-scientist", **terms)
    approve(world, pitch, world.head, "research-head")
    return pitch


def promised(world, **terms) -> Grant:
    """A pitch of Research that both roles have signed."""
    return Grant.objects.get(pitch=signed(world, submit(world, **terms)))


def fresh(row):
    """The row as another person's request reads it."""
    return type(row).objects.get(pk=row.pk)


def page_of(client, who: Person, name: str, *args: object):
    """What that person gets to see at that address."""
    client.force_login(who)
    return client.get(reverse(name, args=args))


def pressed(client, who, pitch, role, door="page", **said):
    """What that person gets for an approval."""
    client.force_login(who)
    said = {"role": role, "round": pitch.round, **said}
    if door == "api":
        return client.post(f"/api/pitches/{pitch.public_id}/sign/", {"verdict": "approve", **said}, "application/json")
    return client.post(reverse("pitch_sign", args=[pitch.public_id]), {"answer": "approve", **said})
