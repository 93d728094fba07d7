"""The pages for what went wrong: each says what, why and what to do. Programs get the same as a problem."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from portal.problems import PROBLEM_TYPE, Problem, told

API = "/api/"


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400: the request itself makes no sense."""
    if request.path_info.startswith(API):
        return _problem(Problem(400, "bad_request", _("Bad request"), _("The request makes no sense or is too large.")))
    return _bare("errors/400.html", 400)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """403: not yours to do."""
    return render(request, "errors/403.html", {"detail": str(exception or "")}, status=403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """404: not there, or not yours to see; the page does not tell which."""
    return render(request, "errors/404.html", status=404)


def broken(request: HttpRequest) -> HttpResponse:
    """500: our fault; the page needs no database, since that may be what broke."""
    if request.path_info.startswith(API):
        return _problem(Problem(500, "broken", _("Our fault"), _("The portal could not do it; its log says why.")))
    return _bare("errors/500.html", 500)


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: a form without its token, most often a page that was open while the person logged in or out elsewhere."""
    return _bare("errors/csrf.html", 403)


def _problem(problem: Problem) -> HttpResponse:
    return JsonResponse(told(problem), status=problem.status, content_type=PROBLEM_TYPE)


def _bare(template: str, status: int) -> HttpResponse:
    """A page that asks nothing of the database or the session."""
    return HttpResponse(render_to_string(template, {"is_demo": settings.DEMO}), status=status)
