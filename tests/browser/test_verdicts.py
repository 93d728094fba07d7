"""Verdicts in a browser: an offer accepted, approve and decline on a phone, an answer undone, all answers by key."""

import pytest
from playwright.sync_api import expect

from allocations import pitches
from allocations.models import Grant, SignOff
from tests.browser import world

THUMB_PX = 44  # what a finger hits


def still(page):
    """Nothing is asked of the server any more: the rows may go."""
    page.wait_for_load_state("networkidle")


@pytest.fixture
def rows(server, lab):
    return world.fill(lab)


@pytest.fixture
def offered(lab, rows):
    """All have signed 2 GPUs, below the minimum of the ask."""
    for who, role, terms in ((lab.head, "research-head", {"gpus": 2}), (lab.chief, "chief-scientist", {})):
        rows.waiting.refresh_from_db()
        pitches.sign_off(
            pitch=rows.waiting, by=who, role=lab.role(role), verdict="approve", round=rows.waiting.round, **terms
        )
    return rows.waiting


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_a_requester_accepts_a_counter_offer(visit, lab, offered, phone):
    with visit(lab.pitcher, phone=phone) as session:
        session.page.goto(f"/pitches/{offered.public_id}/")
        accept = session.page.get_by_role("button", name="Accept 2 H100")
        assert accept.bounding_box()["height"] >= THUMB_PX
        accept.click()
        expect(session.page.locator(".toast-line")).to_contain_text("Accepted: 2 H100 are promised.")

        offered.refresh_from_db()
        assert (offered.state, Grant.objects.get(pitch=offered).gpus) == ("granted", 2)
        still(session.page)
        assert session.complaints == []


def test_a_requester_declines_one_with_a_reason(visit, lab, offered):
    with visit(lab.pitcher) as session:
        session.page.goto(f"/pitches/{offered.public_id}/")
        session.page.keyboard.press("d")
        session.page.keyboard.type("Two are no use.")
        session.page.click("text=Decline these terms")
        expect(session.page.locator(".toast-line")).to_contain_text("on the table again")
        still(session.page)

    offered.refresh_from_db()
    assert (offered.state, offered.offered_gpus) == ("submitted", 30)


def test_a_letter_typed_right_after_the_key_is_no_other_answer(visit, lab, offered):
    """In the same task, before the browser has told that the form is open: "a" would accept the offer."""
    with visit(lab.pitcher) as session:
        session.page.goto(f"/pitches/{offered.public_id}/")
        session.page.evaluate("""() => {
            const key = (name) => new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true });
            document.body.dispatchEvent(key("d"));
            document.activeElement.dispatchEvent(key("a"));
        }""")
        expect(session.page.get_by_role("button", name="Decline these terms")).to_be_visible()
        still(session.page)

    offered.refresh_from_db()
    assert offered.state == "offered"


@pytest.mark.parametrize("answer", ["Approve 30", "Decline"])
def test_approve_and_decline_are_in_reach_of_a_thumb(visit, lab, rows, answer):
    with visit(lab.chief, phone=True) as session:
        session.page.goto("/queue/")
        button = session.page.locator(f".answers .btn-large:has-text('{answer}')")
        box = button.bounding_box()
        assert box["height"] >= THUMB_PX
        assert box["y"] + box["height"] <= 844
        assert session.page.evaluate("document.documentElement.scrollWidth") <= 390
        button.click()
        if answer == "Decline":
            session.page.fill("#decline-reason", "Not this quarter.")
            session.page.click("text=Decline the pitch")
        session.page.wait_for_selector("text=Nothing waits for your signature")

        assert SignOff.objects.filter(pitch=rows.waiting, person=lab.chief).count() == 1
        still(session.page)
        assert session.complaints == []


def test_an_answer_is_undone_by_its_key_and_the_seconds_run(visit, lab, rows):
    with visit(lab.chief) as session:
        session.page.goto("/queue/")
        session.page.keyboard.press("a")
        left = session.page.locator("[data-undo-left]")
        expect(left).to_have_text("10")
        expect(left).to_have_text("9")
        session.page.keyboard.press("u")
        expect(session.page.locator("#item-title")).to_have_text("Longer chains")

        assert SignOff.objects.filter(pitch=rows.waiting).count() == 0
        assert session.page.locator("form.undo").count() == 0
        still(session.page)
        assert session.complaints == []


def test_the_way_back_goes_away_by_itself(visit, lab, rows, settings):
    settings.UNDO_S = 2
    with visit(lab.chief) as session:
        session.page.goto("/queue/")
        session.page.keyboard.press("a")
        expect(session.page.locator("form.undo")).to_have_count(1)
        expect(session.page.locator("form.undo")).to_have_count(0)
        still(session.page)


@pytest.mark.parametrize(
    ("key", "field", "press", "state"),
    [("q", "#changes-reason", "Ask for these changes", "changes"), ("w", "#waitlist-rank", "Put it on", "waitlisted")],
)
def test_the_other_answers_have_keys_and_the_help_names_them(visit, lab, rows, key, field, press, state):
    with visit(lab.chief) as session:
        session.page.goto("/queue/")
        session.page.keyboard.press("?")
        names = session.page.locator("#keys dl").inner_text()
        session.page.keyboard.press("Escape")
        session.page.keyboard.press(key)
        expect(session.page.locator(field)).to_be_focused()
        session.page.keyboard.type("1")
        session.page.click(f"text={press}")
        expect(session.page.locator(".undo")).to_contain_text("Longer chains")

        rows.waiting.refresh_from_db()
        assert rows.waiting.state == state
        for name in ("Approve", "Approve less, or other days", "Ask for changes", "Decline", "Put on the waitlist"):
            assert name in names
        still(session.page)
        assert session.complaints == []


def test_another_model_is_named_on_the_queue(visit, lab, rows):
    with visit(lab.chief) as session:
        session.page.goto("/queue/")
        session.page.keyboard.press("l")
        session.page.fill("#less-gpus", "4")
        session.page.click("text=Another model or other days")
        session.page.select_option("#less-model", label="A100")
        session.page.fill("#less-days", "20")
        session.page.click("button:has-text('Sign these terms')")
        expect(session.page.locator(".undo")).to_contain_text("Signed for 4 A100")

        rows.waiting.refresh_from_db()
        assert (rows.waiting.terms.model.name, rows.waiting.terms.days) == ("A100", 20)
        still(session.page)
        assert session.complaints == []
