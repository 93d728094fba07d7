"""The queue in a browser: answered by keys, one after the other, back and forth, refused, and without script."""

import pytest
from playwright.sync_api import expect

from allocations.models import Pitch, SignOff
from tests import factories
from tests.browser import world

TITLES = ["Longer chains", "Second in line"]
TWICE = ".answers [data-key=a]"
# The same place, or the same key, again: at once when htmx says that the next pitch is there.
SECOND = {
    "tap": """(button) => {
        const { x, y, width, height } = document.querySelector(button).getBoundingClientRect();
        document.addEventListener("htmx:afterSettle", (event) => {
            if (event.target.id !== "queue" || "tapped" in window) return;
            const hit = document.elementFromPoint(x + width / 2, y + height / 2).closest("button");
            window.tapped = hit === document.querySelector(button);
            hit.click();
        });
    }""",
    "key": """(button) => document.addEventListener("htmx:afterSettle", (event) => {
        if (event.target.id !== "queue" || "tapped" in window) return;
        window.tapped = document.querySelector(button) !== null;
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, cancelable: true }));
    })""",
}


@pytest.fixture
def rows(server, lab):
    return world.fill(lab)


def test_the_queue_is_answered_by_keys(visit, lab, rows):
    with visit(lab.chief) as session:
        session.page.goto("/queue/")
        session.page.keyboard.press("d")
        session.page.keyboard.type("Not this quarter.")
        session.page.click("text=Decline the pitch")
        session.page.wait_for_selector("text=Nothing waits for your signature")

        rows.waiting.refresh_from_db()
        assert rows.waiting.state == "declined"
        assert session.page.locator(".undo > span").inner_text() == "Declined: Longer chains. Nobody is told yet."
        assert session.page.locator(".toast-line").count() == 0
        assert session.complaints == []


def test_going_back_in_the_queue_shows_whole_pages(visit, lab, rows):
    second = factories.submitted(lab.project, lab.pitcher, title="Second in line")
    with visit(lab.chief) as session:
        session.page.goto("/queue/")
        session.page.keyboard.press("j")
        expect(session.page.locator("#item-title")).to_have_text("Second in line")
        session.page.keyboard.press("k")
        expect(session.page.locator("#item-title")).to_have_text("Longer chains")
        session.page.go_back()
        expect(session.page.locator("#item-title")).to_have_text("Second in line")

        assert session.page.url.endswith(f"/queue/{second.public_id}/")
        assert session.page.locator(".rail").count() == 1
        assert session.complaints == []


def test_a_key_held_down_decides_once(visit, lab, rows):
    factories.submitted(lab.project, lab.pitcher, title="Second in line", gpus=4)
    with visit(lab.chief) as session:
        session.page.goto(f"/queue/{Pitch.objects.get(title='Second in line').public_id}/")
        session.page.keyboard.down("a")
        session.page.wait_for_selector(".undo")
        for _repeat in range(5):
            session.page.keyboard.down("a")
        session.page.wait_for_timeout(500)

        assert SignOff.objects.filter(person=lab.chief, pitch__state=Pitch.State.SUBMITTED).count() == 1


@pytest.mark.parametrize("again", ["tap", "key"])
def test_a_double_tap_signs_one_pitch_and_leaves_the_next_alone(visit, lab, rows, again):
    """The second one comes the moment the next pitch is in place, where Approve was."""
    factories.submitted(lab.project, lab.pitcher, title="Second in line", gpus=4)
    with visit(lab.chief, phone=True) as session:
        session.page.goto("/queue/")
        session.page.evaluate(SECOND[again], TWICE)
        session.page.click(TWICE)
        expect(session.page.locator("#item-title")).to_have_text("Second in line")
        expect(session.page.locator(".answers.is-resting")).to_have_count(0)
        session.page.wait_for_load_state("networkidle")
        signed = list(
            SignOff.objects.filter(person=lab.chief, pitch__title__in=TITLES).values_list("pitch__title", flat=True)
        )
        session.page.click(TWICE)
        expect(session.page.locator("#queue")).to_contain_text("Nothing waits for your signature")

        assert (signed, session.page.evaluate("window.tapped")) == (["Longer chains"], True)
        assert session.complaints == []


def test_a_refused_answer_keeps_the_typed_reason_on_the_screen(visit, lab, rows):
    with visit(lab.chief) as session:
        session.page.goto("/queue/")
        session.page.keyboard.press("l")
        session.page.fill("#less-gpus", "31")
        session.page.fill("#less-reason", "A few more will do.")
        session.page.click("button:has-text('Sign these terms')")
        session.page.wait_for_selector("#less-gpus-error")

        assert session.page.input_value("#less-reason") == "A few more will do."
        assert session.page.locator("#less-gpus-error").inner_text().startswith("Approve from 1 to 30")


def test_the_queue_works_without_script(chromium, server, visit, lab, rows):
    with visit(lab.chief) as session:
        cookies = session.page.context.cookies()
    context = chromium.new_context(base_url=server, java_script_enabled=False)
    context.add_cookies([{"name": each["name"], "value": each["value"], "url": server} for each in cookies])
    page = context.new_page()

    page.goto("/queue/")
    page.click("summary:has-text('Approve less')")
    page.fill("#less-gpus", "20")
    page.click("button:has-text('Sign these terms')")

    rows.waiting.refresh_from_db()
    assert (rows.waiting.round, rows.waiting.offered_gpus) == (2, 20)
    assert "Nothing waits for your signature" in page.inner_text("main")
    context.close()


def test_a_whole_queue_is_decided_by_keys_in_one_sitting(visit, lab, rows):
    titles = ["Longer chains", "Second in line", "Third in line"]
    for title in titles[1:]:
        factories.submitted(lab.project, lab.pitcher, title=title, gpus=1)
    with visit(lab.chief) as session:
        session.page.goto("/queue/")
        for title in titles:
            expect(session.page.locator("#item-title")).to_have_text(title)
            expect(session.page.locator(".is-resting")).to_have_count(0)
            session.page.keyboard.press("a")
        expect(session.page.locator("#queue")).to_contain_text("Nothing waits for your signature")

        assert session.complaints == []
    assert (
        list(SignOff.objects.filter(person=lab.chief, pitch__title__in=titles).values_list("pitch__title", flat=True))
        == titles
    )
