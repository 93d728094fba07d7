"""The health board in a browser: from a cause to a cordon, an island kept out of use for tomorrow, axe, phone."""

from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone
from playwright.sync_api import expect

from inventory import arrivals, cordons
from inventory.models import Cordon, Finding, Survey
from tests import factories

OPEN_ALL = "document.querySelectorAll('main details').forEach((one) => { one.open = true; })"
ADDRESSES = ["/health/", "/maintenance/?where=pod-1", "/arrivals/"]


@pytest.fixture
def made(server, lab):
    """Trouble of several kinds, a window to come, an arrival, and polling that stands still."""
    now = timezone.now()
    nodes = [factories.node(f"gpu-{n}.lab", island="pod-1", gpus=8, address="https://a:1") for n in range(3)]
    grant = factories.grant(lab.project, gpus=8)
    for gpu in nodes[0].gpus.all():
        factories.assignment(gpu, lab.project, grant=grant)
        Finding.objects.create(
            node=nodes[0], gpu=gpu, code="ecc_uncorrected", severity="out", evidence="2 errors", since=now, seen_at=now
        )
    long = "a long-evidence/without/any/blank-" * 8
    Finding.objects.create(node=nodes[1], code="silent", severity="out", evidence=long, since=now, seen_at=now)
    Finding.objects.create(node=nodes[2], code="xid", severity="warn", since=now, seen_at=now, ended_at=now)
    cordons.set_cordon(node=factories.node("ws-1"), by=lab.ops, reason="fan 3", since=now + timedelta(days=3))
    day = timezone.localdate() + timedelta(days=30)
    arrivals.announce_arrival(model=factories.model("H200"), gpus=64, arrives_on=day, by=lab.ops, reason="order 4711")
    ago = now - timedelta(hours=1)
    Survey.objects.create(started_at=ago, finished_at=ago, nodes_asked=3, nodes_answered=2, gpus_seen=16)


def test_ops_keep_an_island_out_of_use_for_tomorrow(visit, lab, made):
    tomorrow = (timezone.localdate() + timedelta(days=1)).isoformat()
    with visit(lab.ops) as session:
        page = session.page
        page.goto("/fleet/")
        page.get_by_role("link", name="Maintenance").click()
        page.get_by_label("Nodes or islands").fill("pod-1")
        page.get_by_label("Why").fill("new firmware")
        page.get_by_label("From the beginning of").fill(tomorrow)
        page.get_by_label("Until the end of").fill(tomorrow)
        page.get_by_role("button", name="Keep out of use").click()
        expect(page.get_by_role("status").filter(has_text="3 nodes are kept out of use.")).to_be_visible()
        row = page.get_by_role("row").filter(has_text="new firmware")
        expect(row).to_contain_text("pod-1")
        set_ = Cordon.objects.filter(reason="new firmware").count()
        row.get_by_role("button", name="Lift").click()
        expect(row).to_have_count(0)

    assert (set_, Cordon.objects.filter(reason="new firmware").count(), session.complaints) == (3, 0, [])


def test_from_a_cause_one_click_leads_to_the_form_with_its_node(visit, lab, made):
    with visit(lab.ops) as session:
        page = session.page
        page.goto("/health/")
        page.get_by_role("link", name="Cordon gpu-1.lab").click()
        expect(page.get_by_label("Nodes or islands")).to_have_value("gpu-1.lab")
        expect(page.get_by_text("Polling stands still.")).to_be_visible()

    assert session.complaints == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(visit, lab, made, dark):
    found = {}
    with visit(lab.ops, dark=dark) as session:
        for address in ADDRESSES:
            session.page.goto(address)
            session.page.evaluate(OPEN_ALL)
            session.page.wait_for_timeout(300)
            violations = Axe().run(session.page).response["violations"]
            found[address] = [(each["id"], each["nodes"][0]["html"][:200]) for each in violations]

    assert (found, session.complaints) == ({address: [] for address in ADDRESSES}, [])


def test_no_page_is_wider_than_a_phone(visit, lab, made):
    widths = {}
    with visit(lab.ops, phone=True) as session:
        for address in ADDRESSES:
            session.page.goto(address)
            session.page.evaluate(OPEN_ALL)
            widths[address] = session.page.evaluate("document.documentElement.scrollWidth")

    assert {address: width for address, width in widths.items() if width > 390} == {}
