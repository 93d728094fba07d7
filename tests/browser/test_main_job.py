"""The main job in a browser: a pitch is written, its room shown while typing, signed by both roles, and promised."""

import pytest
from playwright.sync_api import Page

from allocations.models import Grant, Pitch
from tests import factories

PASSWORD = "a long enough one"
TITLE = "Pretrain at a million tokens"


@pytest.fixture
def fleet(server, lab):
    """64 H100, of which Research may promise 38; the pitcher and the signers know their passwords."""
    factories.split()
    for gpu in factories.fleet(gpus=64, island="oslo-a"):
        factories.reading(gpu, "")
    for person in (lab.pitcher, lab.head, lab.chief, lab.ops):
        person.set_password(PASSWORD)
        person.save()
    return lab


def log_in(page: Page, login: str) -> None:
    """The person is logged in by name and password and stands at home."""
    page.goto("/login/")
    page.fill("#id_username", login)
    page.fill("#id_password", PASSWORD)
    page.click("button:has-text('Log in')")
    page.wait_for_selector("h1:has-text('Home')")


def write_pitch(page: Page) -> None:
    """The pitch is submitted; on the way the panel has said that too many do not fit and that 32 do."""
    page.click("text=New pitch")
    page.fill("#id_title", TITLE)
    page.fill("#id_ideal_gpus", "40")
    page.wait_for_selector("#outlook :text('It does not fit as asked.')")
    page.fill("#id_ideal_gpus", "32")
    page.wait_for_selector("#outlook :text('At the tightest moment 38 are free; 6 would be left.')")
    page.check("#id_one_island")
    page.fill("#id_why", "The eight-node runs plateau.")
    page.click("text=Submit for signatures")
    page.wait_for_selector("text=It now waits for: Chief scientist, Research head.")


def sign(page: Page, expected: str) -> None:
    """The first pitch of the queue is approved with one key."""
    page.goto("/queue/")
    page.wait_for_selector(f"#item-title:has-text('{TITLE}')")
    page.keyboard.press("a")
    page.wait_for_selector(f".toast-line:has-text('{expected}')")


def test_a_pitch_is_written_signed_by_both_and_promised(visit, fleet):
    with visit() as session:
        log_in(session.page, "pitcher")
        write_pitch(session.page)
        pitch_address = session.page.url
        assert session.complaints == []
    with visit() as session:
        log_in(session.page, "research-head")
        sign(session.page, "It waits for the other signatures.")
    with visit() as session:
        log_in(session.page, "chief-scientist")
        sign(session.page, "It is now a need until GPUs are assigned.")
    with visit(fleet.pitcher) as session:
        session.page.goto(pitch_address)
        steps = session.page.locator(".step strong").all_inner_texts()
        lede = session.page.locator(".page-lede").inner_text()

    assert Pitch.objects.get(title=TITLE).state == Pitch.State.GRANTED
    assert list(Grant.objects.values_list("gpus", "one_island")) == [(32, True)]
    assert steps == ["Pitched", "Chief scientist", "Research head", "Grant", "GPUs"]
    assert lede == "Promised; 32 GPUs are still to be assigned by ops."
