"""axe finds nothing on any page in light and dark, the browser has no complaint, no page is wider than a phone."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse

from allocations.models import Loan, Project
from inventory.models import Node
from tests.browser import world

OPEN_ALL = "document.querySelectorAll('details.disclose').forEach((each) => { each.name = ''; each.open = true; })"
IDLE_MS = 400  # the panels that follow the typing have answered by then
GONE = "Failed to load resource: the server responded with a status of 404 (Not Found)"


@pytest.fixture
def rows(server, lab):
    filled = world.fill(lab)
    world.fill_beside(lab)
    Node.objects.filter(pk=filled.node.pk).update(address="https://10.0.0.7:8443", token="t" * 43)  # its agent joined
    return filled


def _pages(lab, rows) -> list[tuple[str, str]]:
    """(login, address) of every page, each in the eyes of somebody who can act there."""

    def at(name: str, *args: object) -> str:
        return reverse(name, args=args)

    return [
        ("", at("login")),
        *(("pitcher", at(name)) for name in ("home", "pitches", "pitch_new", "grants", "projects", "password_change")),
        ("pitcher", at("pitch", rows.declined.public_id)),
        ("team-mate", at("pitch", rows.granted.public_id)),
        ("pitcher", at("pitch", rows.waiting.public_id)),
        ("pitcher", at("pitch_edit", rows.draft.public_id)),
        ("chief-scientist", at("home")),
        ("chief-scientist", at("queue")),
        ("chief-scientist", at("desk")),
        ("chief-scientist", at("desk_minutes")),
        ("chief-scientist", at("deputies")),
        ("chief-scientist", at("conflicts")),
        ("chief-scientist", at("queue_coming")),
        ("research-head", at("pitch", rows.waiting.public_id)),
        ("chief-scientist", at("inbox")),
        ("chief-scientist", at("inbox_preferences")),
        ("ceo-applications", at("queue")),
        ("ceo-applications", at("split")),
        ("lead", at("grant", rows.grant.public_id)),
        ("lead", at("loans")),
        ("lead", at("loan", Loan.objects.get().public_id)),
        ("admin", at("people")),
        ("admin", at("person", lab.pitcher.pk)),
        ("admin", at("person_conflicts", lab.chief.pk)),
        ("lead", at("project", lab.project.slug)),
        ("stranger", at("home")),
        ("stranger", at("pitches")),
        ("pitcher", at("jump") + "?q=e"),
        ("pitcher", "/nowhere/"),
        ("ops", at("home")),
        ("ops", at("reshuffle")),
        ("ops", at("fleet")),
        ("ops", at("node", rows.node.name)),
        ("ops", at("modes")),
        ("ops", at("modes_island") + f"?island={rows.node.island}"),
        ("auditor", at("trail")),
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_on_any_page(visit, lab, rows, settings, dark):
    settings.DEMO = True
    found = {}

    for login, address in _pages(lab, rows):
        with visit(lab.everyone.get(login), dark=dark) as session:
            session.page.goto(address)
            session.page.evaluate(OPEN_ALL)
            session.page.wait_for_timeout(IDLE_MS)
            theme = session.page.evaluate("document.documentElement.dataset.bsTheme")
            results = Axe().run(session.page)
            findings = [(each["id"], each["nodes"][0]["html"][:160]) for each in results.response["violations"]]
            complaints = [said for said in session.complaints if said != GONE or address != "/nowhere/"]
            found[login, address] = (theme, findings, complaints)

    clean = ("dark" if dark else "light", [], [])
    assert {page: told for page, told in found.items() if told != clean} == {}


def test_no_page_is_wider_than_a_phone(visit, lab, rows, settings):
    settings.DEMO = True
    Project.objects.filter(pk=lab.project.pk).update(name="Leistungsfähigkeitsuntersuchungen der Sprachmodelle")
    found = {}

    for login, address in _pages(lab, rows):
        with visit(lab.everyone.get(login), phone=True) as session:
            session.page.goto(address)
            session.page.evaluate(OPEN_ALL)
            found[login, address] = session.page.evaluate("document.documentElement.scrollWidth")

    assert {page: width for page, width in found.items() if width > 390} == {}
