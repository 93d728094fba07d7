"""What stands for a state, a division, a share: pills, marks and bars."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from portal.templatetags.icons import heroicon_micro

register = template.Library()

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
