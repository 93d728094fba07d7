"""A person at a browser without JavaScript: logs in, reads pages, sends the forms that stand on them."""

import http.cookiejar
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

TIMEOUT_S = 30  # the portal may have just been killed and come back


@dataclass
class Form:
    """A form as it stands on a page: where it goes and what it would send untouched."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    url: str
    status: int
    html: str
    forms: tuple[Form, ...]

    @property
    def text(self) -> str:
        """What a reader sees, white space folded."""
        visible = re.sub(r"<(script|style)\b.*?</\1>", " ", self.html, flags=re.DOTALL)
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", visible))


class Visitor:
    """One person's session with the portal at `base` (scheme, host, port)."""

    def __init__(self, base: str, login: str) -> None:
        self.base, self.login = base, login
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def log_in(self, password: str) -> Page:
        """The login form was sent; the page after it."""
        return self.send("/login/", "/login/", {"username": self.login, "password": password})

    def read(self, path: str) -> Page:
        """The page at `path`, whatever its status."""
        return self._open(urllib.request.Request(urllib.parse.urljoin(self.base, path)))

    def send(
        self, page_path: str, action: str, values: Mapping[str, object], *, where: Mapping[str, str] | None = None
    ) -> Page:
        """The form on `page_path` that goes to `action` was sent with `values` over what stands in it.

        `where` tells one of several such forms by what stands in it. Raises LookupError where there is no such form.
        """
        page = self.read(page_path)
        wanted = (where or {}).items()
        fitting = [f for f in page.forms if _path(f.action or page.url) == action and wanted <= f.fields.items()]
        if not fitting:
            raise LookupError(f"{self.login} sees no form to {action} on {page_path} ({page.status})")
        return self.post(page.url, action, fitting[0].fields | {name: str(value) for name, value in values.items()})

    def force(self, action: str, values: Mapping[str, object]) -> Page:
        """`values` were sent to `action` although no form asks this person to."""
        page = self.read("/")
        token = next(form.fields["csrfmiddlewaretoken"] for form in page.forms if "csrfmiddlewaretoken" in form.fields)
        fields = {name: str(value) for name, value in values.items()}
        return self.post(page.url, action, {"csrfmiddlewaretoken": token, **fields})

    def post(self, referer: str, action: str, fields: Mapping[str, str]) -> Page:
        """Those fields were sent to `action`."""
        url = urllib.parse.urljoin(self.base, action)
        body = urllib.parse.urlencode(fields).encode()
        return self._open(urllib.request.Request(url, data=body, headers={"Referer": referer}))

    def _open(self, request: urllib.request.Request) -> Page:
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                return _page(answer.url, answer.status, answer.read().decode())
        except urllib.error.HTTPError as error:
            return _page(error.url or request.full_url, error.code, error.read().decode())


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._open: Form | None = None
        self._select: tuple[str, bool] | None = None
        self._textarea: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = Form(given.get("action", ""))
            self.forms.append(self._open)
        elif self._open is None or "disabled" in given:
            return
        elif tag == "input" and given.get("name"):
            self._input(given)
        elif tag == "textarea":
            self._textarea = given.get("name")
        elif tag == "select":
            self._select = (given.get("name", ""), False)
        elif tag == "option" and self._select and ("selected" in given or not self._select[1]):
            self._open.fields[self._select[0]] = given.get("value", "")
            self._select = (self._select[0], True)

    def _input(self, given: dict[str, str]) -> None:
        assert self._open is not None
        kind = given.get("type", "text")
        if kind in {"checkbox", "radio"}:
            if "checked" in given:
                self._open.fields[given["name"]] = given.get("value", "on")
        elif kind not in {"submit", "button", "image", "file"}:
            self._open.fields[given["name"]] = given.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._open is not None and self._textarea:
            self._open.fields[self._textarea] = self._open.fields.get(self._textarea, "") + data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        elif tag == "textarea":
            self._textarea = None
        elif tag == "select":
            self._select = None


def _page(url: str, status: int, html: str) -> Page:
    parser = _Forms()
    parser.feed(html)
    return Page(url, status, html, tuple(parser.forms))


def _path(url: str) -> str:
    return urllib.parse.urlsplit(url).path
