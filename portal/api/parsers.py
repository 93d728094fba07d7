"""Bodies of the API: JSON, and no deeper than any of ours is."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class ShallowJSON(JSONParser):
    """JSON; a body that is nested so deeply that nobody could read it is refused like any other that is none."""

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        """The body's value. Raises ParseError."""
        try:
            return super().parse(*args, **kwargs)
        except RecursionError as error:  # some kilobytes of "[[[[" are enough
            raise ParseError(_("The body is nested too deeply.")) from error
