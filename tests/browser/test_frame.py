"""The frame in a browser: theme, keys, the bottom bar of a phone, the demo's switch."""

import re

import pytest

from tests.browser import world

ACCENTS = {"light": "rgb(251, 252, 253)", "dark": "rgb(16, 22, 27)"}


@pytest.fixture
def rows(server, lab):
    return world.fill(lab)


def test_the_theme_follows_the_system_and_then_the_person(visit, lab):
    with visit(lab.pitcher, dark=True) as session:
        session.page.goto("/")
        seen = [session.page.evaluate("getComputedStyle(document.body).backgroundColor")]
        session.page.click("[data-theme-next]")
        seen.append(session.page.evaluate("getComputedStyle(document.body).backgroundColor"))

        session.page.reload()
        seen.append(session.page.evaluate("getComputedStyle(document.body).backgroundColor"))

        assert seen == [ACCENTS["dark"], ACCENTS["light"], ACCENTS["light"]]
        assert session.complaints == []


def test_slash_jumps_and_question_mark_shows_the_keys(visit, lab, rows):
    with visit(lab.pitcher) as session:
        session.page.goto("/pitches/")
        session.page.keyboard.press("?")
        keys = session.page.locator("dialog.keys dt").all_inner_texts()
        session.page.keyboard.press("Escape")
        session.page.keyboard.press("/")
        session.page.keyboard.type("Longer chains")
        session.page.keyboard.press("Enter")
        session.page.wait_for_url(re.compile(r"/pitches/[0-9a-f-]{36}/"))

        assert keys == ["/", "n"]
        assert session.page.locator("h1").inner_text() == "Longer chains"


def test_a_phone_has_its_bar_at_the_bottom_and_the_rest_under_more(visit, lab):
    with visit(lab.chief, phone=True) as session:
        session.page.goto("/")
        rail = session.page.locator(".rail").bounding_box()
        session.page.click(".rail-more summary")
        more = session.page.locator(".rail-more .menu-list .rail-word").all_inner_texts()

        assert (round(rail["x"]), round(rail["y"] + rail["height"])) == (0, 844)
        assert more == ["Split", "Deputies", "Grants", "Projects", "Fleet", "Trail"]


def test_one_click_switches_the_person_of_the_demo(visit, lab, settings):
    settings.DEMO = True
    with visit(lab.pitcher) as session:
        session.page.goto("/")
        session.page.click(".demo summary")
        with session.page.expect_navigation():
            session.page.click(".demo button[value=ops]")

        assert session.page.locator(".top .person-name").inner_text() == "ops"
        assert session.page.locator(".toast-line").inner_text() == "You are now ops."
