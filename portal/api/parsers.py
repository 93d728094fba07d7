"""Bodies of the API: JSON, no deeper than any of ours is, of text that the database can keep."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class ShallowJSON(JSONParser):
    """JSON; a body that is nested so deeply that nobody could read it is refused like any other that is none.

    So is one with a NUL or half a surrogate pair in it: no column holds the one, no answer could repeat the other.
    """

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        """The body's value. Raises ParseError."""
        try:
            value = super().parse(*args, **kwargs)
            is_text = _is_text(value)
        except RecursionError as error:  # some kilobytes of "[[[[" are enough
            raise ParseError(_("The body is nested too deeply.")) from error
        if not is_text:
            raise ParseError(_("The body holds a character that no text can hold."))
        return value


def _is_text(value: Any) -> bool:
    """Whether all strings in it, keys too, can be kept and sent."""
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)
    if isinstance(value, dict):
        return all(_is_text(key) and _is_text(each) for key, each in value.items())
    return not isinstance(value, list) or all(map(_is_text, value))
