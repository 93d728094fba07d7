"""How Allot writes instants and days: as ages, the instant on hover."""

from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from django import template
from django.conf import settings
from django.utils import timezone
from django.utils.dates import MONTHS_3
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from allocations import days
from portal.templatetags.figures import NOTHING

register = template.Library()

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400
DAYS_AS_DATE = 45  # beyond some weeks a date says more than a number of days


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
