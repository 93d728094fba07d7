"""The table of refusals: each domain error has one status and one word for what to do, for pages and API alike."""

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.forms import BaseForm
from django.http import Http404
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions, views
from rest_framework.response import Response

from allocations import errors as refused
from inventory import errors as machines

DOMAIN_ERRORS = (refused.AllocationsError, machines.InventoryError)
PROBLEM_TYPE = "application/problem+json"
LOOK_AGAIN = _("Look again: the page shows how things stand now.")

# The first class that fits holds, so subclasses stand before their base.
STATUSES: dict[type[Exception], tuple[int, str | Promise, str | Promise]] = {
    refused.NotAllowed: (403, _("Not yours to do"), _("Ask a person who holds the role.")),
    refused.BadTerms: (422, _("That does not fit together"), _("Correct the field; what you typed is still there.")),
    refused.WrongState: (409, _("That step is not open any more"), LOOK_AGAIN),
    refused.Stale: (409, _("Somebody was first"), LOOK_AGAIN),
    refused.OverShare: (409, _("Over the share"), _("Ask for fewer, for later, or for another split.")),
    refused.OverQuota: (409, _("Over the quota"), _("Ask for fewer, or a decider for other terms of the project.")),
    refused.OverCapacity: (409, _("More than there is"), _("Ask for fewer, or for later.")),
    refused.Uncovered: (409, _("The plan forgets open moves"), _("Propose the plan again.")),
    refused.NothingToPlan: (409, _("Nothing to plan"), LOOK_AGAIN),
    refused.NobodyToSign: (409, _("Nobody can sign this"), _("An administrator gives the role to somebody.")),
    machines.BadFleetFile: (422, _("The file cannot be read"), _("Correct the file; nothing of it was imported.")),
    machines.BadJoinCode: (403, _("No node joins by that code"), _("Ask ops for a new code.")),
    machines.WrongEnrolment: (409, _("That step is not open any more"), LOOK_AGAIN),
    machines.WrongMode: (409, _("Nothing there has modes"), LOOK_AGAIN),
    machines.WrongCordon: (409, _("That step is not open any more"), LOOK_AGAIN),
    machines.WrongArrival: (409, _("That step is not open any more"), LOOK_AGAIN),
    machines.NodeUnreachable: (503, _("The node does not answer"), _("Try again in a moment.")),
    machines.NodeError: (502, _("The node did not do it"), _("The node's page shows what it answered.")),
    refused.AllocationsError: (409, _("That is not possible now"), LOOK_AGAIN),
    machines.InventoryError: (409, _("That is not possible now"), LOOK_AGAIN),
}


@dataclass(frozen=True)
class Problem:
    """A refusal as pages and API tell it; `detail` is the sentence with the numbers."""

    status: int
    code: str
    title: str
    detail: str
    what_to_do: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


def problem_of(error: Exception) -> Problem:
    """How a domain error is told; the first class of the table that fits."""
    status, title, what_to_do = next(row for kind, row in STATUSES.items() if isinstance(error, kind))
    return Problem(
        status=status,
        code=error.code,  # type: ignore[attr-defined]
        title=str(title),
        detail=str(getattr(error, "message", "") or error),
        what_to_do=str(what_to_do),
        facts=dict(getattr(error, "facts", {})),
    )


def refuse(form: BaseForm, error: Exception) -> int:
    """The form carries the refusal, at its field where it names one; the status for the page that shows it again."""
    problem = problem_of(error)
    name = problem.facts.get("field")
    form.add_error(name if name in form.fields else None, problem.detail)
    return problem.status


def api_exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Every refusal of the API as `application/problem+json` with a code that never changes."""
    if isinstance(error, DOMAIN_ERRORS):
        return _response(problem_of(error))
    response = views.exception_handler(error, context)
    if response is None:
        return None
    answer = _response(_problem_of_api(error, response))
    for header in ("WWW-Authenticate", "Retry-After", "Allow"):
        if header in response.headers:
            answer.headers[header] = response.headers[header]
    return answer


def _problem_of_api(error: Exception, response: Response) -> Problem:
    code = getattr(error, "default_code", "error")
    if isinstance(error, Http404):
        code = "not_found"
    elif isinstance(error, PermissionDenied):
        code = "permission_denied"
    title = HTTPStatus(response.status_code).phrase
    if isinstance(error, exceptions.ValidationError):
        facts = {"errors": response.data}
        return Problem(response.status_code, "invalid", title, str(_("Some fields are wrong.")), facts=facts)
    detail = response.data.get("detail", title) if isinstance(response.data, dict) else title
    return Problem(response.status_code, code, title, str(detail))


def told(problem: Problem) -> dict[str, Any]:
    """The members of a problem document; the facts of the refusal stand beside the fixed ones."""
    return {
        **problem.facts,
        "type": "about:blank",
        "title": problem.title,
        "status": problem.status,
        "code": problem.code,
        "detail": problem.detail,
    }


def _response(problem: Problem) -> Response:
    return Response(told(problem), status=problem.status, content_type=PROBLEM_TYPE)
