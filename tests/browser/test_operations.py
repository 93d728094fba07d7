"""The pages of operation in a browser: the map by pointer and keyboard, live parts, no script, axe, phone."""

import re
from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import transaction
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect

from allocations import plans
from allocations.models import Move, Target
from inventory import cordons, trail
from tests import factories
from tests.portal.operation import world

OPEN_ALL = "document.querySelectorAll('main details').forEach((one) => { one.open = true; })"


@pytest.fixture
def made(server, lab):
    made = world(lab)
    committed = plans.propose_plan(grant=factories.grant(lab.applied_project, gpus=3), by=lab.ops)
    plans.commit_plan(plan=committed, by=lab.ops, generation=0)
    first, second, _third = Move.objects.order_by("pk")
    now = timezone.now()
    Move.objects.filter(pk=first.pk).update(state="draining", draining_at=now, running=2, fault="node_unreachable")
    Move.objects.filter(pk=second.pk).update(state="failed", failed_at=now, fault="node_refused")
    factories.node("gpu-3.lab", gpus=2, silent_since=now - timedelta(minutes=5), fault="bad_token")
    cordoned = factories.node("gpu-4.lab", gpus=2)
    cordons.set_cordon(node=cordoned, by=lab.ops, reason="fan 3")
    trail.seal()
    return made


def _pages(made) -> list[tuple[str, str]]:
    """Addresses, and what is done there before somebody looks."""
    committed = Target.objects.get().plan.public_id
    return [
        (f"/reshuffle/?plan={made.plan.public_id}", OPEN_ALL),
        ("/reshuffle/", ""),
        (f"/plans/{made.plan.public_id}/", ""),
        (f"/plans/{committed}/", ""),
        ("/fleet/?by=project&open=gpu-1.lab", ""),
        ("/fleet/?by=use&doing=active,free", ""),
        ("/fleet/?by=age&island=pod-1", ""),
        (f"/gpus/{made.node.gpus.order_by('pk').first().pk}/", OPEN_ALL),
        ("/fleet/?as=table", ""),
        ("/fleet/?as=table&doing=lost", ""),
        ("/nodes/gpu-2.lab/", "document.querySelector('.disclose').open = true"),
        ("/nodes/gpu-3.lab/", ""),
        ("/nodes/gpu-4.lab/", ""),
        ("/trail/", OPEN_ALL),
        ("/trail/?verb=nothing", ""),
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_and_the_browser_has_no_complaint(visit, lab, made, dark):
    found = {}

    with visit(lab.ops, dark=dark) as session:
        for address, deed in _pages(made):
            session.page.goto(address)
            session.page.evaluate(deed or "0")
            session.page.wait_for_timeout(400)
            violations = Axe().run(session.page).response["violations"]
            found[address] = [(each["id"], each["nodes"][0]["html"][:200]) for each in violations]

    assert {address: findings for address, findings in found.items() if findings} == {}
    assert session.complaints == []


def test_no_page_is_wider_than_a_phone(visit, lab, made):
    with visit(lab.ops, phone=True) as session:
        widths = {}
        for address, deed in _pages(made):
            session.page.goto(address)
            session.page.evaluate(deed or "0")
            session.page.wait_for_timeout(300)
            widths[address] = session.page.evaluate("document.documentElement.scrollWidth")

    assert {address: width for address, width in widths.items() if width > 390} == {}


def test_what_happens_shows_without_a_reload(visit, lab, made):
    with visit(lab.ops) as session:
        page = session.page
        page.goto("/reshuffle/")
        expect(page.locator("[data-live-sign]")).to_have_text("live")
        page.evaluate("document.body.dataset.sameAsBefore = 'yes'")
        with transaction.atomic():
            Move.objects.filter(state="draining").update(running=17, fault="")
        expect(page.locator("#lanes")).to_contain_text("17 processes to end", timeout=4000)
        same = page.evaluate("document.body.dataset.sameAsBefore")

    assert (same, session.complaints) == ("yes", [])


def test_without_a_stream_the_page_asks_by_the_clock_and_says_so(visit, lab, made):
    with visit(lab.ops) as session:
        page = session.page
        page.route("**/live/", lambda route: route.fulfill(status=204, body=""))
        page.clock.install()
        page.goto("/reshuffle/")
        page.clock.run_for(2_000)
        expect(page.locator("[data-live-sign]")).to_have_text("every 15 s")
        Move.objects.filter(state="draining").update(running=17, fault="")
        page.clock.run_for(16_000)
        expect(page.locator("#lanes")).to_contain_text("17 processes to end")


def test_a_plan_is_proposed_and_committed_without_script(chromium, server, lab, made):
    context = chromium.new_context(base_url=server, java_script_enabled=False)
    client = Client()
    client.force_login(lab.ops)
    context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": server}])
    page = context.new_page()

    page.goto("/reshuffle/")
    page.get_by_role("button", name="Propose a plan").first.click()
    page.get_by_role("button", name=re.compile("^Commit: move")).click()
    expect(page.get_by_text("Nothing moves before it is committed.")).to_have_count(0)
    heading = page.get_by_role("heading", level=1).inner_text()
    context.close()

    assert heading == "Protein folding"
    assert Target.objects.get().generation == 2


def test_the_keys_of_the_desk_propose_and_commit(visit, lab, made):
    with visit(lab.ops) as session:
        page = session.page
        page.goto("/reshuffle/")
        page.keyboard.press("n")
        page.wait_for_url("**/reshuffle/?plan=*")
        page.keyboard.press("c")
        page.wait_for_url("**/plans/*/")

    assert Target.objects.get().generation == 2


def test_a_stale_commit_shows_the_new_state_beside(visit, lab, made):
    opened = plans.propose_plan(grant=made.need, by=lab.ops)
    with visit(lab.ops) as session:
        page = session.page
        page.goto(f"/plans/{opened.public_id}/")
        other = plans.propose_plan(grant=made.need, by=lab.ops)
        plans.commit_plan(plan=other, by=lab.ops, generation=1)
        page.get_by_role("button", name=re.compile("^Commit: move")).click()
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("Committed since this plan was made")
        expect(alert.get_by_role("link")).to_have_count(1)

    assert Target.objects.get().generation == 2
