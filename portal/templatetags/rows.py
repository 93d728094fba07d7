"""What a page reads off a row: of a pitch, a split, a move, of people and roles."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from django import template
from django.utils.translation import gettext as _

from allocations import asks, queries
from portal.templatetags.figures import NOTHING
from portal.templatetags.times import day

register = template.Library()

HOURS_A_DAY = 24


@register.filter
def ask_gpu_hours(pitch: Any) -> int:
    """The GPU-hours of what lies on the table of a pitch."""
    terms = pitch.terms
    return int(terms.gpus * terms.days * HOURS_A_DAY)


@register.filter
def details(pitch: Any) -> asks.Details:
    """What a pitch says in rows beside its columns; three queries."""
    return asks.details_of(pitch)


@register.filter
def overdue(pitch: Any) -> list[Any]:
    """The roles that let a pitch wait beyond its time, with who was told; one query while it waits for signatures."""
    return queries.overdue_roles(pitch)


@register.filter
def desk(pitch: Any) -> str:
    """On whose desk a pitch lies: the roles that have not signed this round; from prefetched roles and sign-offs."""
    if pitch.state in ("draft", "changes", "offered"):
        return pitch.pitcher.name
    if pitch.state == "waitlisted":
        return _("waitlist, rank %(rank)s") % {"rank": pitch.waitlist_rank}
    if pitch.state != "submitted":
        return NOTHING
    signed = {sign_off.role_id for sign_off in pitch.sign_offs.all() if sign_off.round == pitch.round}
    return ", ".join(role.name for role in pitch.roles.all() if role.pk not in signed) or NOTHING


@register.filter
def said(value: object) -> object:
    """What a field of a pitch says, in words: yes or no, a day, a dash for nothing."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, date):
        return day(value)
    return NOTHING if value in (None, "") else value


@register.filter
def stands_since(pitch: Any) -> datetime | None:
    """Since when a pitch stands as it does."""
    offered_at = pitch.offered_at if pitch.state == "offered" else None
    return pitch.withdrawn_at or pitch.decided_at or offered_at or pitch.submitted_at or pitch.created_at


@register.filter
def has_models(split: Any) -> bool:
    """Whether a split has lines for single GPU models; from prefetched lines."""
    return any(line.model_id for line in split.lines.all())


@register.filter
def debtors(effects: Sequence[Any]) -> list[Any]:
    """The effects of a split that leave somebody over the share."""
    return [effect for effect in effects if effect.debt_gpus]


@register.filter
def moved_at(move: Any) -> datetime | None:
    """When a move came into the state that it is in."""
    stamps = {"switching": move.draining_at, "done": move.done_at}
    return stamps.get(move.state, getattr(move, f"{move.state}_at", None)) or move.proposed_at


@register.filter
def names(rows: Sequence[Any]) -> str:
    """The names of roles or people in a row."""
    return ", ".join(row.name for row in rows)


@register.filter
def one_line(text: str) -> str:
    """A text without its line breaks, for a line of a list."""
    return " ".join(text.split())
