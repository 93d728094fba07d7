"""Idle GPUs in words."""

from datetime import datetime, timedelta

from django import template
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

register = template.Library()


@register.filter
def span(length: timedelta) -> str:
    """How long, in hours and minutes: 1 h 45 min."""
    hours, minutes = divmod(round(length.total_seconds() / 60), 60)
    words = [_("%(n)s h") % {"n": hours}] if hours else []
    if minutes or not hours:
        words.append(_("%(n)s min") % {"n": minutes})
    return " ".join(words)


@register.filter
def instant(text: str) -> datetime | None:
    """The instant that stands in a row of evidence."""
    return parse_datetime(text)
