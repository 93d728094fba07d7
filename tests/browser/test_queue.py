"""The queue in a browser: answered by keys, one after the other, back and forth, refused, and without script."""

import pytest
from playwright.sync_api import expect

from allocations.models import Pitch, SignOff
from tests import factories
from tests.browser import world


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
        assert session.page.locator(".toast-line").inner_text() == "Declined: Longer chains."
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
        session.page.wait_for_selector(".toast-line")
        for _repeat in range(5):
            session.page.keyboard.down("a")
        session.page.wait_for_timeout(500)

        assert SignOff.objects.filter(person=lab.chief, pitch__state=Pitch.State.SUBMITTED).count() == 1


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
            session.page.keyboard.press("a")
        expect(session.page.locator("#queue")).to_contain_text("Nothing waits for your signature")

        assert session.complaints == []
    assert (
        list(SignOff.objects.filter(person=lab.chief, pitch__title__in=titles).values_list("pitch__title", flat=True))
        == titles
    )
