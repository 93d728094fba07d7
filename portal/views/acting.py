"""What every page with a form does with what was typed: do it and say so, or say at the form why not."""

from collections.abc import Callable

from django.contrib import messages
from django.forms import BaseForm
from django.http import HttpRequest

from allocations.errors import NotAllowed
from portal.problems import DOMAIN_ERRORS, refuse

INVALID = 422


def refused(request: HttpRequest, form: BaseForm, act: Callable[[], str]) -> int | None:
    """None once `act` is done and the person is told what it returns; else the status of the page to be shown again.

    The form then carries the refusal, beside what was typed. Raises NotAllowed.
    """
    if not form.is_valid():
        return INVALID
    try:
        said = act()
    except NotAllowed:
        raise
    except DOMAIN_ERRORS as refusal:
        return refuse(form, refusal)
    if said:
        messages.success(request, said)
    return None
