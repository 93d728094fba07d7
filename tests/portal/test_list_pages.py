"""List pages: a constant number of queries, pages by key, filters in the address, nothing inline, parts equal pages."""

import re
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from allocations.models import Pitch, RoleHolder
from portal import pages
from tests import factories

INLINE = re.compile(r"<style|\sstyle=|\son[a-z]+=|javascript:|<script(?![^>]*\ssrc=)", re.IGNORECASE)


def _rows(lab, count: int) -> None:
    """In every state and of every kind, `count` rows."""
    factories.split()
    factories.fleet(gpus=16)
    for _number in range(count):
        project = factories.project(division=lab.research, members=[lab.pitcher])
        factories.submitted(project, lab.pitcher)
        factories.pitch(project, lab.pitcher)
        grant = factories.grant(project)
        for gpu in factories.fleet(gpus=2):
            factories.assignment(gpu, project, grant=grant)
            factories.holding(gpu, project, grant=grant)
            factories.reading(gpu, project.slug, util_pct=90.0)
        factories.split(state="proposed", by=lab.ceo).roles.set([lab.role("ceo"), lab.role("ceo-applications")])


MOST_QUERIES = 15
MOST_OF_THE_QUEUE = 12
MOST_OF_AN_APPROVAL = 30
MOST_OF_THE_SPLIT = 30

LISTS = [
    ("home", "pitcher", MOST_QUERIES),
    ("home", "chief-scientist", MOST_QUERIES),
    ("home", "ops", MOST_QUERIES),
    ("pitches", "chief-scientist", MOST_QUERIES),
    ("queue", "chief-scientist", MOST_OF_THE_QUEUE),
    ("grants", "auditor", MOST_QUERIES),
    ("projects", "auditor", MOST_QUERIES),
]


def _queries(client, address: str) -> list[str]:
    """What the page asks the database once everything is warm."""
    client.get(address)
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(address)
    assert answer.status_code == 200
    return [query["sql"] for query in asked.captured_queries]


@pytest.mark.parametrize(("name", "login", "most"), LISTS)
def test_a_list_costs_the_same_with_one_row_and_with_three(client, lab, name, login, most):
    client.force_login(lab.everyone[login])
    costs = []

    for count in (1, 2):  # rows are added: three at the end
        _rows(lab, count)
        costs.append(len(_queries(client, reverse(name))))

    assert costs[0] == costs[1] <= most


def test_the_splits_history_costs_the_same_with_one_row_and_with_three(client, lab):
    factories.fleet(gpus=16)
    client.force_login(lab.auditor)
    costs = []

    for count in (1, 2):
        for _number in range(count):
            factories.split(by=lab.ceo)
        costs.append(len(_queries(client, reverse("split"))))

    assert costs[0] == costs[1] <= MOST_OF_THE_SPLIT


def _details(lab) -> list[tuple[str, str]]:
    """(login, address) of pages about one thing."""
    waiting = Pitch.objects.filter(state="submitted").first()
    grant = factories.grant(lab.project)
    return [
        ("pitcher", reverse("pitch", args=[waiting.public_id])),
        ("chief-scientist", reverse("pitch", args=[waiting.public_id])),
        ("auditor", reverse("grant", args=[grant.public_id])),
        ("pitcher", reverse("project", args=[lab.project.slug])),
        ("auditor", reverse("project", args=[lab.project.slug])),
    ]


def test_a_page_about_one_thing_takes_few_queries(client, lab):
    _rows(lab, 2)
    costs = {}

    for login, address in _details(lab):
        client.force_login(lab.everyone[login])
        costs[login, address] = len(_queries(client, address))

    assert {page: cost for page, cost in costs.items() if cost > MOST_QUERIES} == {}


def test_the_last_signature_takes_few_queries(client, lab):
    _rows(lab, 1)
    said = {"answer": "approve", "round": 1, "reason": ""}

    for _number in range(2):  # the first promise of a model makes its shares
        pitch = factories.submitted(lab.project, lab.pitcher, gpus=1)
        for person, role in ((lab.chief, "chief-scientist"), (lab.head, "research-head")):
            client.force_login(person)
            with CaptureQueriesContext(connection) as asked:
                client.post(reverse("pitch_sign", args=[pitch.public_id]), said | {"role": role})

    assert Pitch.objects.get(pk=pitch.pk).state == Pitch.State.GRANTED
    assert len(asked) <= MOST_OF_AN_APPROVAL


def test_roles_are_read_once_while_a_page_is_made_and_anew_for_the_next(client, lab):
    _rows(lab, 1)
    client.force_login(lab.chief)
    asked = [sql for sql in _queries(client, reverse("home")) if 'FROM "allocations_roleholder"' in sql]

    RoleHolder.objects.filter(person=lab.chief).delete()

    assert len(asked) == 1
    assert client.get(reverse("desk")).status_code == 403


def test_older_pages_follow_by_key_without_gap_or_repeat(client, lab, monkeypatch):
    monkeypatch.setattr(pages.newest_first, "__kwdefaults__", {"size": 2})
    titles = [f"Pitch {number}" for number in range(5)]
    for title in titles:
        factories.pitch(lab.project, lab.pitcher, title=title)
    client.force_login(lab.pitcher)
    seen, url = [], "/pitches/"

    while url:
        page = client.get(url).content.decode()
        seen += re.findall(r'class="row-link"[^>]*>(Pitch \d)', page)
        older = re.search(r'href="(\?before=\d+)"[^>]*rel="next"', page)
        url = "/pitches/" + older.group(1) if older else ""

    assert seen == titles[::-1]


@pytest.mark.parametrize("before", ["", "x", "-1", "9" * 40, "²"])
def test_nonsense_in_the_address_shows_the_newest_page(client, lab, before):
    factories.pitch(lab.project, lab.pitcher, title="The only one")
    client.force_login(lab.pitcher)

    answer = client.get("/pitches/", {"before": before})

    assert answer.status_code == 200
    assert answer.content.decode().count(">The only one<") == 1


def test_filters_narrow_the_pitches(client, lab):
    factories.pitch(lab.project, lab.pitcher, title="Mine, a draft")
    factories.submitted(lab.project, lab.pitcher, title="Mine, submitted")
    factories.submitted(lab.project, lab.team_mate, title="Of the team mate")
    client.force_login(lab.pitcher)

    def shown(query: str) -> list[str]:
        return re.findall(r'class="row-link"[^>]*>(.*?)</a>', client.get(f"/pitches/?{query}").content.decode())

    assert shown("") == ["Of the team mate", "Mine, submitted", "Mine, a draft"]
    assert shown("mine=1") == ["Mine, submitted", "Mine, a draft"]
    assert shown("state=submitted&mine=1") == ["Mine, submitted"]
    assert shown("project=no-such-project") == []
    assert shown("state=nonsense") == shown("")


def _addresses(lab) -> list[str]:
    submitted = Pitch.objects.filter(state="submitted").first()
    draft = Pitch.objects.filter(state="draft").first()
    grant = factories.grant(lab.project)
    return [
        "/", "/pitches/", "/pitches/new/", f"/pitches/{submitted.public_id}/", f"/pitches/{draft.public_id}/edit/",
        "/queue/", f"/queue/{submitted.public_id}/", "/split/", "/grants/", f"/grants/{grant.public_id}/", "/projects/",
        f"/projects/{lab.project.slug}/", "/jump/?q=a", "/password/", "/login/", "/nowhere/", f"/pitches/{uuid4()}/",
    ]  # fmt: skip


def test_no_page_holds_anything_inline(client, lab, settings):
    settings.DEMO = True
    _rows(lab, 2)
    found = {}

    for person in (lab.pitcher, lab.chief, lab.ceo, lab.ops):
        client.force_login(person)
        for address in _addresses(lab):
            page = client.get(address).content.decode()
            found[person.username, address] = INLINE.findall(page)

    assert {place: hits for place, hits in found.items() if hits} == {}


def test_the_search_for_inline_parts_finds_them():
    samples = ["<p style='x'>", "<style>", '<a onclick="x">', "<script>1</script>", '<a href="javascript:1">']

    assert [len(INLINE.findall(sample)) for sample in samples] == [1] * 5
    assert INLINE.findall('<script src="/a.js"></script><p data-style="x">') == []


def _part(page: str, opening: str) -> str:
    """The element that begins with `opening`, by counting its tags; its white space told as one blank."""
    start = page.index(opening)
    depth, at = 0, start
    for tag in re.finditer(r"<(/?)div\b", page[start:]):
        depth += -1 if tag.group(1) else 1
        at = start + tag.end()
        if depth == 0:
            break
    return _plain(page[page.index(">", start) + 1 : page.rindex("</div", start, at)])


def _plain(text: str) -> str:
    text = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text)
    # "Now" differs between two requests: instants, and the drawings that begin with it, differ in their last digit.
    text = re.sub(r' (datetime|d|x|x1|x2|y|y1|y2|width|height)="[^"]*"', "", text)
    return re.sub(r"\s+", " ", text).strip()


def test_the_part_of_the_queue_equals_the_page(client, lab):
    _rows(lab, 2)
    client.force_login(lab.chief)

    page = client.get("/queue/").content.decode()
    part = client.get("/queue/", headers={"HX-Request": "true"}).content.decode()

    out_of_band = '<div id="toasts" hx-swap-oob="afterbegin">'
    assert _plain(part[: part.index(out_of_band)]) == _part(page, '<div id="queue"')


def test_the_part_of_the_outlook_equals_the_page(client, lab):
    _rows(lab, 1)
    draft = Pitch.objects.filter(state="draft").first()
    client.force_login(draft.pitcher)
    typed = {
        "project": draft.project_id, "model": draft.model_id, "ideal_gpus": draft.ideal_gpus, "days": draft.days,
        "min_gpus": draft.min_gpus, "start_on": draft.start_on.isoformat(), "title": draft.title,
        "but": draft.public_id,
    }  # fmt: skip

    page = client.post(f"/pitches/{draft.public_id}/edit/", {**typed, "do": "look"}).content.decode()
    part = client.get("/pitches/outlook/", typed, headers={"HX-Request": "true"}).content.decode()

    assert _plain(part[: part.index('<p id="verdict-line"')]) == _part(page, '<div id="outlook"')


def test_use_that_nobody_knows_is_told_as_unknown_and_never_as_idle(client, lab):
    gpus = factories.fleet(gpus=3)
    for gpu in gpus:
        factories.holding(gpu, lab.project)
    factories.reading(gpus[0], lab.project.slug, util_pct=90.0)
    factories.reading(gpus[1], lab.project.slug, util_pct=90.0, requested_at=factories.LONG_AGO)
    client.force_login(lab.pitcher)

    def told() -> list[str]:
        page = client.get("/projects/").content.decode()
        return re.findall(r'<td class="num"[^>]*><div>([^<]*)</div></td>', page)

    before = told()
    factories.reading(gpus[0], lab.project.slug, util_pct=None)

    assert before == ["3", "1, 2 unknown"]
    assert told() == ["3", "unknown"]


@pytest.mark.parametrize("name", ["home", "pitches", "queue", "grants", "projects", "split", "desk", "trail", "inbox"])
def test_a_page_answers_head_without_a_body(client, lab, name):
    """What watches a portal asks so."""
    client.force_login(lab.ceo)

    answer = client.head(reverse(name))

    assert (answer.status_code, answer.content) == (200, b"")
