"""The icons of heroicons under their own tags, each drawn once a process: the library copies a tree for every one."""

from functools import cache

from django import template
from django.utils.safestring import SafeString
from heroicons.templatetags import heroicons

register = template.Library()

_DRAW = {
    "micro": heroicons.heroicon_micro,
    "mini": heroicons.heroicon_mini,
    "outline": heroicons.heroicon_outline,
}


@register.simple_tag
def heroicon_micro(name: str, *, size: int = 16, **attributes: object) -> SafeString:
    """The smallest icon, 16 px."""
    return _drawn("micro", name, size, tuple(attributes.items()))


@register.simple_tag
def heroicon_mini(name: str, *, size: int = 20, **attributes: object) -> SafeString:
    """An icon beside text, 20 px."""
    return _drawn("mini", name, size, tuple(attributes.items()))


@register.simple_tag
def heroicon_outline(name: str, *, size: int = 24, **attributes: object) -> SafeString:
    """An icon of lines, 24 px."""
    return _drawn("outline", name, size, tuple(attributes.items()))


@cache  # what templates name: some hundred icons with their sizes
def _drawn(style: str, name: str, size: int, attributes: tuple[tuple[str, object], ...]) -> SafeString:
    return _DRAW[style](name, size=size, **dict(attributes))
