"""A crawl as each person: every link and address that the pages show opens, no GET writes, every form has its token.

Only the session and the throttle of the login may be written by a GET.
"""

import re
from collections import Counter
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
from django.db import connection
from django.urls import Resolver404, resolve
from django.utils import timezone

from allocations.models import Pitch, Plan
from inventory import trail
from inventory.models import Event
from tests import factories
from tests.allocations import acts
from tests.portal import operation

A_VIEW = 2  # addresses of one view for one person: rows of one kind have the same page
EVERYBODYS = {"home", "pitches", "projects", "fleet", "node"}
REACHED = {
    "stranger": {"home", "pitches", "fleet"},
    "pitcher": {*EVERYBODYS, "pitch_new", "pitch", "pitch_edit", "pitch_withdraw", "pitch_resubmit", "grant"},
    "lead": {*EVERYBODYS, "pitch_new", "pitch", "grant", "grant_end", "project_wind_down"},
    "chief-scientist": {*EVERYBODYS, "queue", "queue_item", "pitch_sign", "trail", "trail_export"},
    "ceo": {*EVERYBODYS, "split", "split_sign", "trail"},
    "ops": {*EVERYBODYS, "reshuffle", "plan", "plan_commit", "node_cordon", "fleet_tiles", "trail_export", "grant"},
    "auditor": {"pitch", "grant", "trail", "trail_export"},
    "admin": {"home", "trail"},
}  # login -> views that the walk must have come to, else it proves nothing
LINKS = ("href", "data-tiles", "hx-get", "action", "hx-post", "src")
WRITES = re.compile(r"\s*(WITH\b.*\b)?(INSERT|UPDATE|DELETE|MERGE|TRUNCATE|COPY|CREATE|ALTER|DROP)\b", re.I | re.S)
OWN_OF_THE_LOGIN = re.compile(r'"(django_session|axes_\w+)"')
ELSEWHERE = ("/static/", "/admin/")


class Shown(HTMLParser):
    """What a page shows: addresses, and the forms that post without a token."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.without_token: list[str] = []
        self._open: str | None = None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.addresses += [values[name] for name in LINKS if values.get(name)]
        if tag == "form" and values.get("method", "get").lower() == "post":
            self._open = values.get("action") or "?"
        if tag == "input" and values.get("name") == "csrfmiddlewaretoken" and values.get("value"):
            self._open = None

    def handle_endtag(self, tag):
        if tag == "form" and self._open:
            self.without_token.append(self._open)
            self._open = None


class Guard:
    """Stands in the connection and writes down every statement that changes a row."""

    def __init__(self) -> None:
        self.writes: list[str] = []

    def __call__(self, execute, sql, params, many, context):
        if WRITES.match(sql) and not OWN_OF_THE_LOGIN.search(sql):
            self.writes.append(sql[:200])
        return execute(sql, params, many, context)


@pytest.fixture
def seeded(lab):
    """Something of every kind: pitches in every state, a split to sign, grants, a plan, a sealed trail."""
    factories.split()
    factories.fleet(gpus=200)
    operation.world(lab)
    acts.draft(lab, title="A draft of the pitcher")
    acts.submit(lab, title="Waits for both", gpus=8)
    granted = acts.submit(lab, title="Granted", gpus=8)
    for person, role in ((lab.chief, "chief-scientist"), (lab.head, "research-head")):
        acts.approve(lab, granted, person, role)
    declined = acts.submit(lab, title="Declined", gpus=8)
    acts.decline(lab, declined, lab.chief, "chief-scientist")
    factories.pitch(lab.project, lab.pitcher, state="submitted", resubmits=declined, roles=["chief-scientist"])
    factories.submitted(lab.applied_project, roles=["ceo-applications"])
    factories.split(state="proposed", by=lab.ceo, starts_at=timezone.now()).roles.set(
        [lab.role("ceo"), lab.role("ceo-applications")]
    )
    trail.seal()
    return lab


class Visit:
    """One person's walk from the home page over all that the pages show."""

    def __init__(self, client) -> None:
        self.client, self.seen, self.views = client, set(), Counter()
        self.broken, self.without_token, self.statuses = [], [], Counter()
        waiting = ["/"]
        while waiting:
            address = waiting.pop(0)
            if self._is_new(address):
                waiting += self._open(address)

    def _is_new(self, address: str) -> bool:
        parts = urlsplit(address)
        if parts.netloc or parts.scheme or not parts.path.startswith("/") or parts.path.startswith(ELSEWHERE):
            return False
        try:
            name = resolve(parts.path).view_name
        except Resolver404:
            self.broken.append((address, "leads nowhere"))
            return False
        if address in self.seen or self.views[name] >= A_VIEW:
            return False
        self.seen.add(address)
        self.views[name] += 1
        return True

    def _open(self, address: str) -> list[str]:
        answer = self.client.get(address)
        self.statuses[answer.status_code] += 1
        if answer.status_code >= 500:
            self.broken.append((address, answer.status_code))
        if answer.status_code in (301, 302):
            return [urljoin(address, answer.url)]
        if answer.streaming or not answer.headers.get("Content-Type", "").startswith("text/html"):
            return []
        shown = Shown(answer.content.decode())
        self.without_token += [(address, form) for form in shown.without_token]
        return [urljoin(address, link).partition("#")[0] for link in shown.addresses]


def rows_of_all_tables() -> dict[str, str]:
    """Table -> how many rows it has and what they say, as one checksum."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_stat_user_tables ORDER BY relname")
        names = [name for (name,) in cursor.fetchall() if not re.match(r"django_session|axes_", name)]
        sums = {}
        for name in names:
            cursor.execute(
                f"SELECT count(*), md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM \"{name}\" t"
            )
            sums[name] = cursor.fetchone()
    return sums


@pytest.mark.parametrize("login", REACHED)
def test_whatever_the_pages_show_opens_writes_nothing_and_posts_with_a_token(client, seeded, login):
    client.force_login(seeded.everyone[login])
    client.raise_request_exception = False
    before, guard = rows_of_all_tables(), Guard()

    with connection.execute_wrapper(guard):
        visit = Visit(client)

    assert (visit.broken, visit.without_token, guard.writes) == ([], [], [])
    assert rows_of_all_tables() == before
    assert (REACHED[login] - set(visit.views), visit.statuses[405] > 0) == (set(), True)


def test_the_guard_and_the_checksum_see_a_write(seeded):
    before, guard = rows_of_all_tables(), Guard()

    with connection.execute_wrapper(guard):
        Pitch.objects.update(title="Forged")
        Plan.objects.filter(pk=0).delete()
        Event.objects.count()

    assert [statement.split()[0] for statement in guard.writes] == ["UPDATE"]
    assert [name for name, rows in rows_of_all_tables().items() if rows != before[name]] == ["allocations_pitch"]


def test_a_form_without_its_token_is_found():
    page = '<form method="post" action="/x/"><input name="a"></form><form method="post" action="/y/">'
    page += '<input name="csrfmiddlewaretoken" value="t"></form><form action="/z/"></form>'

    assert Shown(page).without_token == ["/x/"]
