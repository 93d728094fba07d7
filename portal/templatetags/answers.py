"""What queue and desk say alike about an answer."""

from django import template
from django.conf import settings
from django.utils.translation import ngettext

register = template.Library()


@register.simple_tag
def final_after() -> str:
    """How long an answer can be taken back; then it is final."""
    return ngettext(
        "You can undo an answer to a pitch for %(n)s second; then it is final and those concerned are told.",
        "You can undo an answer to a pitch for %(n)s seconds; then it is final and those concerned are told.",
        settings.UNDO_S,
    ) % {"n": settings.UNDO_S}
