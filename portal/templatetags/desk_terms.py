"""The other terms of a row of the desk: its days, another model, the waitlist."""

from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from portal.board.terms import alternatives_of

register = template.Library()
# As the browser fills it in: the key, and what the person saw of the pitch.
BLANK = {"key": "__key__", "seen": "__seen__", "role": "any", "typed": {"start": "", "days": "", "place": ""}}


@register.simple_tag
def blank_terms(board: Any) -> SafeString:
    """The fields of no row yet."""
    return render_to_string("desk/terms.html", {"row": BLANK, "model": board.model, "others": _others(board, None)})


def terms_of(board: Any, row: Any) -> SafeString:
    """The fields as the row has them."""
    return render_to_string("desk/terms.html", {"row": row, "model": board.model, "others": _others(board, row)})


def _others(board: Any, row: Any) -> list[dict[str, Any]]:
    """The models that may be named instead, with what would do of each."""
    named = alternatives_of(row.pitch) if row else {}
    return [
        {"name": each.name, "gpus": named.get(each.name), "is_chosen": row is not None and row.terms.model == each}
        for each in board.facts.models
        if each != board.model
    ]
