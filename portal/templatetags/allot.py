"""How Allot writes things: ages, counts of GPUs, state pills, division marks, bars and fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from html import escape
from typing import Any
from zoneinfo import ZoneInfo

from django import template
from django.conf import settings
from django.forms import BoundField
from django.forms.widgets import CheckboxInput, CheckboxSelectMultiple, RadioSelect, Select
from django.utils import timezone
from django.utils.dates import MONTHS_3
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from allocations import asks, days, queries
from portal.templatetags.icons import heroicon_micro

register = template.Library()

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400
DAYS_AS_DATE = 45  # beyond some weeks a date says more than a number of days
NOTHING = "\N{EN DASH}"  # where there is no number and no time
SELECTED = SafeString(" selected")
BAR_WIDTH = 1000  # user units of a bar's drawing, whatever its width on the page

# state -> (tone, icon); a pill has a word and an icon, never colour alone
LOOKS = {
    "draft": ("", "pencil"),
    "submitted": ("open", "clock"),
    "changes": ("warn", "pencil-square"),
    "offered": ("warn", "envelope-open"),
    "waitlisted": ("open", "queue-list"),
    "granted": ("good", "check-circle"),
    "declined": ("bad", "x-circle"),
    "withdrawn": ("", "arrow-uturn-left"),
    "active": ("good", "play"),
    "winding_down": ("warn", "arrow-trending-down"),
    "ended": ("", "stop"),
    "protected": ("open", "shield-check"),
    "proposed": ("open", "clock"),
    "committed": ("good", "check-circle"),
    "signed": ("good", "check-circle"),
    "planned": ("open", "calendar"),
    "running": ("good", "play"),
    "noticed": ("open", "bell"),
    "agreed": ("open", "hand-thumb-up"),
    "draining": ("open", "funnel"),
    "switching": ("open", "arrow-path"),
    "done": ("good", "check-circle"),
    "failed": ("bad", "exclamation-triangle"),
    "superseded": ("", "arrow-uturn-right"),
    "need": ("warn", "exclamation-circle"),
    "overdue": ("warn", "exclamation-circle"),
    "met": ("good", "check-circle"),
    "answers": ("good", "signal"),
    "silent": ("bad", "signal-slash"),
    "cordoned": ("", "no-symbol"),
    "retired": ("", "archive-box"),
    "lost": ("bad", "x-circle"),
    "out": ("bad", "x-circle"),
    "warn": ("warn", "exclamation-triangle"),
    "note": ("", "information-circle"),
    "idle": ("warn", "pause-circle"),
    "warned": ("open", "bell"),
    "again": ("warn", "bell-alert"),
    "desk": ("bad", "pause-circle"),
    "kept": ("good", "hand-raised"),
    "unknown": ("", "question-mark-circle"),
    "stale": ("", "clock"),
    "free": ("", "square-2-stack"),
    "assigned": ("open", "arrow-down-tray"),
    "ghost": ("bad", "eye-slash"),
    "hung": ("bad", "exclamation-circle"),
    "low": ("warn", "arrow-trending-down"),
    "drift": ("bad", "exclamation-triangle"),
    "asked": ("open", "clock"),
    "approved": ("good", "check-circle"),
    "emergency": ("warn", "bolt"),
    "lent": ("open", "arrows-right-left"),
    "returned": ("", "arrow-uturn-left"),
    "partly": ("warn", "minus-circle"),
    "missed": ("bad", "x-circle"),
}


def _words(seconds: float) -> str:
    """A span of time as a person says it, never finer than the minute."""
    if seconds < MINUTE_S:
        return _("less than a minute")
    if seconds < HOUR_S:
        count = int(seconds // MINUTE_S)
        return _("%(n)s min") % {"n": count}
    if seconds < 2 * DAY_S:
        return _("%(n)s h") % {"n": int(seconds // HOUR_S)}
    return _("%(n)s d") % {"n": int(seconds // DAY_S)}


@register.filter
def age(at: datetime | None) -> str | SafeString:
    """The instant as its age ("3 h ago", "in 5 d"), the exact instant on hover in the viewer's zone; or a dash."""
    if at is None:
        return NOTHING
    seconds = (timezone.now() - at).total_seconds()
    local = timezone.localtime(at)
    if abs(seconds) < MINUTE_S:
        words = _("just now")
    elif abs(seconds) >= DAYS_AS_DATE * DAY_S:
        words = _day(local)
    elif seconds > 0:
        words = _("%(span)s ago") % {"span": _words(seconds)}
    else:
        words = _("in %(span)s") % {"span": _words(-seconds)}
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), _exact(local), words)


def _day(at: date) -> str:
    return f"{at.day} {str(MONTHS_3[at.month]).title()} {at.year}"


def _exact(local: datetime) -> str:
    """The instant as Django's "j M Y, H:i T" says it; a list has a hundred of them."""
    return f"{_day(local)}, {local:%H:%M} {local.tzname()}"


@register.filter
def waited(since: datetime | None) -> str:
    """How long something has waited until now, in words; a dash for none."""
    return NOTHING if since is None else _words((timezone.now() - since).total_seconds())


@register.filter
def left(until: datetime) -> str:
    """How long it is until then, in words."""
    return _words(max((until - timezone.now()).total_seconds(), 0))


@register.filter
def day(value: date | datetime | None) -> str | SafeString:
    """The day as "3 Mar 2027" (an instant in the viewer's zone, its time on hover); a dash for none."""
    if value is None:
        return NOTHING
    if isinstance(value, datetime):
        local = timezone.localtime(value)
        return format_html(
            '<time datetime="{}" title="{}">{}</time>',
            value.isoformat(),
            _exact(local),
            _day(local),
        )
    return _day(value)


@register.filter
def last_day(until: datetime | None) -> str:
    """The last day, in the site's zone, of something that runs until that instant; a dash for none.

    What ends in the middle of a day (it began so) says at what time: its last day is not a whole one.
    """
    if until is None:
        return NOTHING
    zone = ZoneInfo(settings.SITE_TIME_ZONE)
    shown = _day(days.last_day(until, zone))
    clock = until.astimezone(zone)
    return shown if clock.time() == time.min else f"{shown}, {clock:%H:%M}"


@register.filter
def number(value: float | None) -> str:
    """A count with a thin space between thousands; a dash for unknown."""
    return NOTHING if value is None else f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


@register.filter
def busy(standing: Any) -> str:
    """How many of the held GPUs work now; those that no fresh reading tells about are named, never counted as idle."""
    if not standing.unknown:
        return number(standing.used)
    if standing.unknown == standing.held:
        return _("unknown")
    return _("%(used)s, %(unknown)s unknown") % {"used": number(standing.used), "unknown": number(standing.unknown)}


@register.filter
def room(value: int) -> str:
    """What is left; below 0 it is debt, told as such and never as a negative number."""
    return number(value) if value >= 0 else _("%(n)s over") % {"n": number(-value)}


@register.filter
def total(value: Decimal) -> str | SafeString:
    """A total that was counted by weights, to a tenth of a GPU, exact on hover."""
    tenths = round(value, 1)
    shown = number(int(tenths) if tenths == int(tenths) else tenths)
    return shown if value == tenths else format_html('<span title="{}">{}</span>', f"{value.normalize():f}", shown)


@register.filter
def signed(value: int) -> str:
    """A difference with its sign: +4, -4, ±0."""
    return f"+{number(value)}" if value > 0 else f"\N{MINUS SIGN}{number(-value)}" if value < 0 else "±0"


@register.simple_tag
def gpus(count: int | None, model: object = "") -> str | SafeString:
    """A count of whole GPUs with its model: "512 H100"."""
    if not model:
        return ngettext("%(n)s GPU", "%(n)s GPUs", count or 0) % {"n": number(count)}
    return format_html('<span class="nowrap">{} {}</span>', number(count), model)


@register.filter
def gpu_hours(hours: float | Decimal | None) -> str | SafeString:
    """GPU-hours rounded to what a person can hold (1.2 M GPU-h), exact on hover."""
    if hours is None:
        return NOTHING
    exact = float(hours)
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if exact >= size:
            figure = exact / size
            rounded = f"{figure:.1f}" if figure < 10 else f"{figure:.0f}"
            return format_html(
                '<span class="nowrap" title="{} GPU-h">{} {} GPU-h</span>', number(round(exact)), rounded, unit
            )
    return format_html('<span class="nowrap">{} GPU-h</span>', number(round(exact)))


@register.filter
def money(amount: Decimal) -> SafeString:
    """An amount in the site's unit, rounded to what a person can hold, exact on hover."""
    exact, unit = float(amount), settings.MONEY_UNIT
    for word, size in (("M", 1e6), ("k", 1e3)):
        if exact >= size:
            rounded = f"{exact / size:.1f}"
            return format_html(
                '<span class="nowrap" title="{} {}">{} {} {}</span>', number(round(exact)), unit, rounded, word, unit
            )
    return format_html('<span class="nowrap">{} {}</span>', number(round(exact)), unit)


@register.filter
def ask_gpu_hours(pitch: Any) -> int:
    """The GPU-hours of what lies on the table of a pitch."""
    terms = pitch.terms
    return int(terms.gpus * terms.days * DAY_S // HOUR_S)


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


@register.simple_tag
def options(choices: Sequence[tuple[str, str]], chosen: str) -> SafeString:
    """The options of a select, of pairs of value and word; drawn at once, since a lab has a thousand projects."""
    drawn = (
        f'<option value="{escape(value)}"{SELECTED if value == chosen else ""}>{escape(word)}</option>'
        for value, word in choices
    )
    return mark_safe("".join(drawn))  # noqa: S308 - both are escaped, by the standard library: Django's takes thrice as long


@register.simple_tag
def pill(state: str, word: object = "") -> SafeString:
    """A state as a pill: icon, word and tone; unknown states look neutral."""
    tone, icon = LOOKS.get(str(state), ("", "minus"))
    return format_html(
        '<span class="pill{}">{}{}</span>',
        f" pill-{tone}" if tone else "",
        heroicon_micro(icon, aria_hidden="true"),
        word or str(state).replace("_", " "),
    )


@register.simple_tag
def state_pill(row: Any) -> SafeString:
    """The pill of a row with a `state`."""
    return pill(row.state, row.get_state_display())


@register.filter
def division_mark(division: Any) -> SafeString:
    """The division's name with its colour and shape; other divisions than the two known ones look neutral."""
    return format_html('<span class="division division-{}">{}</span>', division.slug, division.name)


@register.simple_tag
def bar(total: int, *parts: object, label: str = "", large: bool = False) -> SafeString:
    """A bar of `total`, drawn by the server: `parts` are pairs of a number and a fill ("research", "accent", ...)."""
    numbers, fills = parts[0::2], parts[1::2]
    width, at, boxes = max(int(total), sum(int(str(n)) for n in numbers), 1), 0.0, []
    for count, fill in zip(numbers, fills, strict=True):
        share = int(str(count)) * BAR_WIDTH / width
        boxes.append((f"{at:.1f}", f"{max(share - 1.5, 0):.1f}" if share else "0", fill))
        at += share
    drawn = format_html_join("", '<rect x="{}" y="0" width="{}" height="12" class="fill-{}"/>', boxes)
    return format_html(
        '<svg class="bar{}" viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        " bar-large" if large else "",
        label,
        drawn,
    )


@register.simple_tag
def split_bar(parts: Sequence[Mapping[str, Any]], total: int) -> SafeString:
    """The large bar of a GPU model: each division's share, what is left is the reserve."""
    pieces: list[object] = [each for part in parts for each in (part["share"], part["division"].slug)]
    rest = total - sum(part["share"] for part in parts)
    label = ", ".join(f"{part['division'].name} {part['share']}" for part in parts)
    spoken = _("%(parts)s, reserve %(rest)s") % {"parts": label, "rest": rest}
    return bar(total, *pieces, rest, "reserve", label=spoken, large=True)


@register.simple_tag
def percent_input(cell: BoundField, empty: object = None) -> SafeString:
    """A number to type into a table, `empty` says what none means; its label is for those who see no table."""
    shown = cell.as_widget(
        attrs={
            "class": "form-control is-invalid" if cell.errors else "form-control",
            "aria-label": cell.label,
            "placeholder": "" if cell.field.required else str(empty or _("as all")),
        }
    )
    errors = format_html_join("", '<div class="field-error">{}</div>', ((error,) for error in cell.errors))
    return format_html("{}{}", shown, errors)


@register.filter
def percent(value: Decimal) -> str:
    """60 %, 12.5 %."""
    return f"{value.normalize():f}\N{NARROW NO-BREAK SPACE}%"


@register.filter
def one_line(text: str) -> str:
    """A text without its line breaks, for a line of a list."""
    return " ".join(text.split())


@register.filter
def has_models(split: Any) -> bool:
    """Whether a split has lines for single GPU models; from prefetched lines."""
    return any(line.model_id for line in split.lines.all())


@register.filter
def debtors(effects: Sequence[Any]) -> list[Any]:
    """The effects of a split that leave somebody over the share."""
    return [effect for effect in effects if effect.debt_gpus]


@register.filter
def names(rows: Sequence[Any]) -> str:
    """The names of roles or people in a row."""
    return ", ".join(row.name for row in rows)


@register.simple_tag
def grant_pill(grant: Any, now: datetime | None = None) -> SafeString:
    """How a grant with `assigned_gpus` and `held_gpus` stands: to come, a need, running, ended, held past its end."""
    now = now or timezone.now()
    if grant.ends_at <= now:
        if grant.held_gpus:
            return pill("overdue", _("held past its end"))
        return pill("ended", _("ended"))
    if grant.starts_at > now:
        return pill("planned", _("to come"))
    if grant.assigned_gpus < getattr(grant, "due_gpus", grant.gpus):
        return pill("need", _("need"))
    return pill("running", _("running"))


@register.filter
def moved_at(move: Any) -> datetime | None:
    """When a move came into the state that it is in."""
    stamps = {"switching": move.draining_at, "done": move.done_at}
    return stamps.get(move.state, getattr(move, f"{move.state}_at", None)) or move.proposed_at


@dataclass(frozen=True)
class Field:
    """A form field as the page shows it: label, control, help, errors, tied together for screen readers."""

    bound: BoundField
    control: str
    is_choice_of_boxes: bool

    @property
    def label(self) -> str:
        return self.bound.label

    @property
    def required(self) -> bool:
        # What the form's class asks for counts: a draft may leave open what its submission needs.
        declared = getattr(self.bound.form, "base_fields", {}).get(self.bound.name, self.bound.field)
        return declared.required

    @property
    def help(self) -> str:
        return self.bound.help_text

    @property
    def errors(self) -> list[str]:
        return self.bound.errors


@register.inclusion_tag("parts/field.html")
def field(bound: BoundField, **attributes: object) -> dict[str, Field]:
    """A form field with its label, help and errors; keyword arguments become attributes of the control (a_b -> a-b)."""
    widget = bound.field.widget
    attrs = {name.replace("_", "-"): str(value) for name, value in attributes.items()}
    boxes = isinstance(widget, CheckboxInput | CheckboxSelectMultiple | RadioSelect)
    kind = "form-check-input" if boxes else "form-select" if isinstance(widget, Select) else "form-control"
    attrs["class"] = f"{kind} is-invalid" if bound.errors else kind
    described = [f"{bound.auto_id}_helptext"] if bound.help_text else []
    if bound.errors:
        attrs["aria-invalid"] = "true"
        described.append(f"{bound.auto_id}_error")
    if described:
        attrs["aria-describedby"] = " ".join(described)
    return {"field": Field(bound, bound.as_widget(attrs=attrs), isinstance(widget, RadioSelect))}


@register.simple_tag
def check(bound: BoundField) -> SafeString:
    """A single tick box with its label beside it."""
    return format_html(
        '<label class="check">{}<span>{}</span></label>',
        bound.as_widget(attrs={"class": "form-check-input"}),
        conditional_escape(bound.label),
    )
