"""How Allot writes numbers: counts of GPUs, GPU-hours, money, shares; rounded where a person reads, exact on hover."""

from decimal import Decimal
from typing import Any

from django import template
from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

register = template.Library()

NOTHING = "\N{EN DASH}"  # where there is no number and no time


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
def percent(value: Decimal) -> str:
    """60 %, 12.5 %."""
    return f"{value.normalize():f}\N{NARROW NO-BREAK SPACE}%"
