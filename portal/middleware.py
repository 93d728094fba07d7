"""What holds for every answer: the content security policy, the viewer's time zone, refusals told as pages."""

from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from allocations import queries
from portal.problems import DOMAIN_ERRORS, problem_of

Answer = Callable[[HttpRequest], HttpResponse]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# Swagger UI writes styles and a script into its page; its answer alone may.
DOCS_POLICY = POLICY.replace("script-src 'self'", "script-src 'self' 'unsafe-inline'").replace(
    "style-src 'self'", "style-src 'self' 'unsafe-inline'"
)
DOCS_NAME = "api_docs"  # the address of the API's page
HTMX_TOAST = {"HX-Retarget": "#toasts", "HX-Reswap": "afterbegin"}


def content_security_policy(get_response: Answer) -> Answer:
    """Every answer says what a page may load: our own files, nothing inline, nothing from elsewhere."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        match = request.resolver_match
        is_docs = match is not None and match.url_name == DOCS_NAME
        response.headers.setdefault("Content-Security-Policy", DOCS_POLICY if is_docs else POLICY)
        return response

    return answer


def whole_addresses(get_response: Answer) -> Answer:
    """An address with a NUL in it is answered by 400: no text of the database holds one."""

    def answer(request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("NUL in the address")
        return get_response(request)

    return answer


def one_look(get_response: Answer) -> Answer:
    """What only reads asks for roles and mandates once; whatever writes asks each time anew."""

    def answer(request: HttpRequest) -> HttpResponse:
        if request.method not in ("GET", "HEAD"):
            return get_response(request)
        with queries.one_look():
            return get_response(request)

    return answer


def viewer_time_zone(get_response: Answer) -> Answer:
    """Pages show the viewer's zone, the site's where the person named none."""

    def answer(request: HttpRequest) -> HttpResponse:
        zone = getattr(request.user, "time_zone", "") or settings.SITE_TIME_ZONE
        with timezone.override(_zone(zone)):
            return get_response(request)

    return answer


class DomainErrors:
    """A refusal that no view caught becomes a page with its sentence, or a toast where a part was asked for."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The page (or toast) for a domain error; None leaves any other error to Django."""
        if not isinstance(error, DOMAIN_ERRORS):
            return None
        problem = problem_of(error)
        part = "#toast" if getattr(request, "htmx", False) else ""
        context = {"problem": problem, "back": _page_before(request)}
        response = render(request, f"errors/problem.html{part}", context, status=problem.status)
        if part:
            for header, value in HTMX_TOAST.items():
                response.headers[header] = value
        return response


domain_errors = DomainErrors


def _page_before(request: HttpRequest) -> str:
    """The page of ours that the person came from, "" where it was none."""
    before = request.headers.get("Referer", "")
    hosts, is_tls = {request.get_host()}, request.is_secure()
    return before if url_has_allowed_host_and_scheme(before, allowed_hosts=hosts, require_https=is_tls) else ""


def _zone(name: str) -> ZoneInfo:
    """The zone of that name; the site's where a person's row names one that this machine does not know."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError):
        return ZoneInfo(settings.SITE_TIME_ZONE)
