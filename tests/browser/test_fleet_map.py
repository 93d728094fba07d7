"""The fleet map in a browser: by keys from the sites down to a card, by pointer, by its legend, and as facts change."""

import re
import time

import pytest
from playwright.sync_api import Page, expect

from allocations.queries.fleet import Doing
from inventory.models import Survey
from tests import factories
from tests.portal.operation import World, world

MOST_PAINT_MS = 50  # for 100,000 cards; the best of some, since other tests share the cores
PAINTS = 8
PAINT_LIMIT_S = 30
CANVAS = "[data-fleet] canvas"


@pytest.fixture
def made(server, lab) -> World:
    """Oslo has two islands; Turin one node that no survey has seen."""
    made = world(lab)
    made.node.__class__.objects.filter(name__in=["gpu-1.lab", "gpu-2.lab"]).update(site="oslo")
    factories.node("gpu-9.lab", gpus=4, site="turin", island="pod-9")
    return made


def _painted(page: Page, times: int = 1) -> list[float]:
    """How long each painting of the map took (ms), once there are so many. The page's policy forbids waiting in it."""
    deadline_s = time.monotonic() + PAINT_LIMIT_S
    while len(took := page.evaluate("performance.getEntriesByName('fleet-paint').map((one) => one.duration)")) < times:
        assert time.monotonic() < deadline_s, "the map was not painted"
        page.wait_for_timeout(30)
    return took


def _walk(page: Page, *keys: str) -> str:
    """What is said once the keys were pressed."""
    before = page.locator("[data-spoken]").inner_text()
    for key in keys:
        page.locator(CANVAS).press(key)
    expect(page.locator("[data-spoken]")).not_to_have_text(before)
    return page.locator("[data-spoken]").inner_text()


def test_keys_walk_from_the_sites_down_to_a_card_and_back_out(visit, lab, made):
    with visit(lab.ops) as session:
        page = session.page
        page.goto("/fleet/")
        _painted(page)
        page.locator(CANVAS).focus()

        said = [
            _walk(page, "ArrowDown"), _walk(page, "ArrowDown"), _walk(page, "ArrowUp"), _walk(page, "Enter"),
            _walk(page, "ArrowRight"), _walk(page, "Enter"), _walk(page, "Enter"), _walk(page, "ArrowRight"),
            _walk(page, "Escape"), _walk(page, "Escape"), _walk(page, "Escape"),
        ]  # fmt: skip

    oslo, pod = "Site oslo, GPUs: 12, free: 8, active: 4", "Island pod-1, GPUs: 8, free: 8"
    assert said[:6] == [
        oslo, "Site turin, GPUs: 4, unknown: 4", oslo, "Island no island:, GPUs: 4, active: 4", pod,
        "Node gpu-1.lab, GPUs: 8, free: 8",
    ]  # fmt: skip
    assert re.fullmatch(r"free, Node: gpu-1\.lab · pod-1 · oslo, Slot: 00000000:01:00\.0, Model: H100, .*", said[6])
    assert re.fullmatch(r"free, .*Slot: 00000000:02:00\.0, .*Held by: nobody, .*Use: 0 %, Read: .*", said[7])
    assert said[8:] == ["Node gpu-1.lab, GPUs: 8, free: 8", pod, oslo]
    assert session.complaints == []


def test_enter_on_a_card_opens_its_node_beside_with_that_card(visit, lab, made):
    card = made.node.gpus.order_by("pci_bus_id")[1]
    with visit(lab.ops) as session:
        page = session.page
        page.goto("/fleet/?site=oslo")
        _painted(page)
        page.locator(CANVAS).focus()
        _walk(page, "ArrowDown", "Enter", "ArrowRight", "Enter", "Enter", "ArrowRight")
        page.locator(CANVAS).press("Enter")
        link = page.locator("#beside [aria-current] a")
        expect(link).to_be_focused()
        opened, target = page.url, link.get_attribute("href")
        page.keyboard.press("Escape")
        expect(page.locator("#beside")).to_be_hidden()
        expect(page.locator(CANVAS)).to_be_focused()

    assert opened.endswith("/fleet/?site=oslo&open=gpu-1.lab")
    assert target == f"/gpus/{card.pk}/"
    assert session.complaints == []


def test_plus_and_minus_zoom_and_nought_shows_the_whole_fleet(visit, lab, made):
    with visit(lab.ops) as session:
        page = session.page
        page.goto("/fleet/")
        _painted(page)
        canvas = page.locator(CANVAS)
        canvas.focus()
        zoomed = re.compile("is-zoomed")
        canvas.press("+")
        expect(canvas).to_have_class(zoomed)
        canvas.press("-")
        expect(canvas).not_to_have_class(zoomed)
        page.get_by_role("button", name="Zoom in").click()
        expect(canvas).to_have_class(zoomed)
        canvas.press("0")
        expect(canvas).not_to_have_class(zoomed)


def test_the_legend_is_the_filter_and_the_table_has_the_same(visit, lab, made):
    with visit(lab.ops) as session:
        page = session.page
        page.goto("/fleet/")
        summary = page.locator("#fleet-summary")
        expect(summary).to_have_text("16 GPUs: 4 in use, 8 free, 4 unknown.")
        page.get_by_role("button", name="active 4").click()
        expect(summary).to_have_text("4 of 16 GPUs: 4 in use.")
        filtered = page.url
        page.get_by_role("button", name="free 8").click()
        expect(summary).to_have_text("12 of 16 GPUs: 4 in use, 8 free.")
        page.get_by_label("Colour by").select_option("project")
        expect(page.get_by_role("button", name="Old one 4")).to_be_visible()
        page.get_by_label("Island", exact=True).select_option("pod-1")
        expect(summary).to_have_text("8 of 16 GPUs: 0 in use, 8 free.")
        page.get_by_role("link", name="Table").click()
        rows = page.locator("main table tbody tr").count()

    assert filtered.endswith("/fleet/?doing=active")
    assert (rows, page_query(session.page.url)) == (8, "as=table&island=pod-1&doing=active%2Cfree")
    assert session.complaints == []


def page_query(address: str) -> str:
    return address.partition("?")[2]


def test_a_click_on_the_table_of_a_project_and_back_keeps_the_filter(visit, lab, made):
    with visit(lab.ops) as session:
        page = session.page
        page.goto("/fleet/?as=table&project=old-one")
        page.get_by_role("link", name="Map").click()
        expect(page.locator("#fleet-summary")).to_have_text("4 of 16 GPUs: 4 in use.")
        page.get_by_label("Find a node, project, island").fill("gpu-9")
        expect(page.locator("#fleet-summary")).to_have_text("0 of 16 GPUs: 0 in use.")
        page.get_by_role("link", name="All", exact=True).click()
        expect(page.locator("#fleet-summary")).to_have_text("16 GPUs: 4 in use, 8 free, 4 unknown.")

    assert page_query(page.url) == ""


def test_a_reading_that_changes_shows_on_the_map_and_only_it_is_sent(visit, lab, made):
    changed = made.node.gpus.first()
    asked: list[str] = []
    with visit(lab.ops) as session:
        page = session.page
        page.on("response", lambda answer: asked.append(answer.url) if "tiles.json" in answer.url else None)
        page.goto("/fleet/")
        expect(page.locator("[data-live-sign]")).to_have_text("live")
        expect(page.get_by_role("button", name="free 8")).to_be_visible()
        factories.reading(changed, lab.project.slug, util_pct=90.0, running=1)
        Survey.objects.create(
            started_at=changed.first_seen_at, finished_at=changed.first_seen_at, nodes_asked=1, nodes_answered=1,
            gpus_seen=8,
        )  # fmt: skip
        expect(page.get_by_role("button", name="active 5")).to_be_visible()
        expect(page.get_by_role("button", name="free 7")).to_be_visible()

    assert ["?since=" in address for address in asked[:2]] == [False, True]
    assert session.complaints == []


def test_a_drag_moves_what_is_in_sight_and_a_click_opens_the_card(visit, lab, made):
    with visit(lab.ops) as session:
        page = session.page
        page.goto("/fleet/?doing=active")
        _painted(page)
        box = page.locator(CANVAS).bounding_box()
        page.mouse.move(box["x"] + 10, box["y"] + 60)
        expect(page.locator("[data-hover-card]")).to_contain_text("Held by")
        page.mouse.down()
        page.mouse.move(box["x"] + 200, box["y"] + 160, steps=4)
        page.mouse.up()
        expect(page.locator("#beside")).to_be_hidden()
        page.mouse.click(box["x"] + 10, box["y"] + 60)
        expect(page.locator("#beside h2")).to_have_text("gpu-2.lab")


def test_a_hundred_thousand_gpus_are_drawn_within_a_blink(visit, lab, made):
    nodes, each = 12_500, range(100_000)
    tiles = {
        "version": "1.1.1", "now": 1_000_000, "stale_s": 30, "names": [f"p{number}" for number in range(300)],
        "kinds": [kind.value for kind in Doing],
        "projects": [[f"P {number}", "research", "Research", number] for number in range(300)],
        "nodes": {
            "name": [f"n{number}" for number in range(nodes)], "site": [number // 6250 for number in range(nodes)],
            "island": [number // 64 for number in range(nodes)], "model": [0] * nodes, "gpus": [8] * nodes,
            "slot": [0] * nodes, "sites": ["oslo", "turin"], "islands": [f"pod-{number}" for number in range(200)],
            "models": ["H100"], "slots": [" ".join(f"0{slot}:00.0" for slot in range(8))],
        },
        "gpu": [1] * 100_000, "doing": [number % 11 for number in each], "since": [5] * 100_000,
        "holder": [number % 300 for number in each], "assigned": [number % 300 for number in each],
        "use": [number % 100 for number in each], "power": [300] * 100_000, "read": [3] * 100_000,
    }  # fmt: skip
    with visit(lab.ops) as session:
        page = session.page
        page.route("**/fleet/tiles.json*", lambda route: route.fulfill(json=tiles))
        page.goto("/fleet/?by=project")
        _painted(page)
        for number in range(PAINTS):
            page.locator(CANVAS).press("ArrowDown" if number % 2 else "ArrowUp")
            _painted(page, number + 1)
        whole = _painted(page, PAINTS)
        page.locator(CANVAS).hover()
        for number in range(PAINTS):
            page.mouse.wheel(0, -200)
            _painted(page, PAINTS + number + 1)
        zooming = _painted(page)[-PAINTS:]
        summary = page.locator("#fleet-summary").inner_text()

    assert summary.split(":")[0] == "100,000 GPUs"
    assert (min(whole) < MOST_PAINT_MS, min(zooming) < MOST_PAINT_MS) == (True, True)
    assert session.complaints == []
