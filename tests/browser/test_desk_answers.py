"""The desk's other answers by keyboard alone, what does not fit, and everything taken back within ten seconds."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from allocations.models import Grant, Notice, OutboxMessage, Pitch, PitchAlternative, Policy, SignOff
from tests import factories
from tests.allocations.changes.acts import policy


@pytest.fixture
def five(server, lab):
    """Five pitches of 8 where Research may promise 38 H100 and 10 A100."""
    factories.split()
    factories.fleet(gpus=64)
    factories.fleet(factories.model("A100"), gpus=16)
    return [
        factories.submitted(lab.project, lab.pitcher, title=f"Pitch {number}", gpus=8, min_gpus=4, days=14)
        for number in range(1, 6)
    ]


def _decide(page) -> None:
    page.keyboard.press("Enter")
    expect(page.locator("[data-desk-decide]")).to_be_focused()
    page.keyboard.press("Enter")


def test_other_days_another_model_and_the_waitlist_by_keyboard(visit, lab, five):
    PitchAlternative.objects.create(pitch=five[1], model=factories.model("A100"), gpus=9)
    later = timezone.now().date() + timedelta(days=21)
    with visit(lab.chief) as session:
        page = session.page
        page.goto("/desk/?division=research&model=H100")
        page.keyboard.press("j")
        page.keyboard.press("a")
        page.keyboard.press("k")
        page.keyboard.press("t")
        expect(page.locator(f"#start-{five[0].public_id}")).to_be_focused()
        page.keyboard.type(f"{later:%m%d%Y}")
        page.keyboard.press("Enter")
        page.keyboard.press("j")
        page.keyboard.press("Space")
        page.keyboard.press("t")
        page.locator(f"#model-{five[1].public_id}").focus()
        page.keyboard.type("A100")
        page.keyboard.press("Enter")
        expect(page.locator("[data-desk-outcome]").nth(1)).to_have_text("A100: fits")
        page.keyboard.press("j")
        page.keyboard.press("w")
        page.keyboard.type("1")
        page.keyboard.press("Enter")
        expect(page.locator("[data-desk-sign]")).to_have_text("You approve 2 and decline 0. 1 for the waitlist.")
        chosen = [f"from {later.day} {later:%b}", "", "waitlist, rank 1", "", ""]
        expect(page.locator("[data-desk-chosen]")).to_have_text(chosen)
        expect(page.locator("[data-desk-outcome]").nth(2)).to_be_hidden()
        _decide(page)
        expect(page.locator(".desk-outcome:not(.is-refused)")).to_have_count(3)

        assert session.complaints == []
    signed = SignOff.objects.order_by("pitch__title").values_list("verdict", "model__name", "gpus", "start_on")
    today = timezone.now().date()
    assert list(signed) == [
        ("approve", "H100", 8, later), ("approve", "A100", 9, today), ("waitlist", "H100", 8, today)
    ]  # fmt: skip
    assert Pitch.objects.get(state="waitlisted").waitlist_rank == 1


def test_other_days_are_weighed_at_once_and_follow_the_row_that_moves(visit, lab, five):
    Pitch.objects.all().update(ideal_gpus=30, offered_gpus=30)
    later = timezone.now().date() + timedelta(days=21)
    with visit(lab.chief) as session:
        page = session.page
        page.goto("/desk/?division=research&model=H100")
        page.keyboard.press("j")
        page.keyboard.press("Space")
        expect(page.locator(".desk-row.is-out")).to_have_count(4)
        page.keyboard.press("t")
        page.fill(f"#start-{five[0].public_id}", later.isoformat())
        page.keyboard.press("Enter")
        expect(page.locator(".desk-row.is-out")).to_have_count(0)
        page.keyboard.press("J")

        assert page.locator(".desk-row .row-link").nth(1).inner_text() == "Pitch 1"
        moved = page.locator(".desk-row").nth(1).evaluate("row => row.nextElementSibling.dataset.termsOf")
        assert (moved, session.complaints) == (str(five[0].public_id), [])


@pytest.mark.parametrize(("key", "signed"), [("f", ("approve", 6)), ("W", ("waitlist", 8))])
def test_what_does_not_fit_is_named_on_the_button_and_mended_by_one_key(visit, lab, five, key, signed):
    with visit(lab.chief) as session:
        page = session.page
        page.goto("/desk/?division=research&model=H100")
        page.keyboard.press("j")
        for _number in range(5):
            page.keyboard.press("a")
        expect(page.locator("[data-desk-decide]")).to_have_text(re.compile("Decide 4, not #5"))
        expect(page.locator("[data-desk-misfit]")).to_have_text(
            re.compile(r"Over the cap as marked, so not decided: #5 \(2 short from .*; 6 fit\)")
        )
        page.keyboard.press(key)
        expect(page.locator("[data-desk-decide]")).to_have_text(re.compile("Decide 5"))
        _decide(page)
        expect(page.locator(".desk-outcome:not(.is-refused)")).to_have_count(5)

        assert session.complaints == []
    last = SignOff.objects.get(pitch=five[4])
    assert (last.verdict, last.gpus) == signed


def test_alone_it_cannot_be_decided(visit, lab, five):
    factories.grant(lab.project, gpus=36)
    with visit(lab.chief) as session:
        page = session.page
        page.goto("/desk/?division=research&model=H100")
        page.keyboard.press("j")
        page.keyboard.press("Space")
        expect(page.locator("[data-desk-decide]")).to_be_disabled()
        expect(page.locator("[data-desk-decide]")).to_have_text(re.compile("#1: does not fit"))
        page.locator(".desk-promises summary").click()
        page.locator("[name=end]").check()
        expect(page.locator("[data-desk-outcome]").first).to_have_text("fits")
        expect(page.locator("[data-desk-misfit]")).to_contain_text("once the grants that are left out have ended")

        expect(page.locator("[data-desk-decide]")).to_be_disabled()


def test_a_grant_is_seen_smaller_then_made_smaller_and_the_bar_has_it(visit, lab, five):
    grant = factories.grant(lab.project, gpus=36)
    policy(lab, Policy.Subject.CHANGE, "chief-scientist")
    with visit(lab.chief) as session:
        page = session.page
        page.goto("/desk/?division=research&model=H100")
        outcome = page.locator("[data-desk-outcome]").first
        expect(outcome).to_have_text(re.compile("6 short"))
        page.keyboard.press("j")
        page.keyboard.press("Space")
        page.locator(".desk-promises summary").click()
        page.fill(f"[name=keeps-{grant.public_id}]", "20")
        expect(outcome).to_have_text("fits")
        expect(page.locator("[data-desk-decide]")).to_be_disabled()
        page.locator(".desk-promises").get_by_text("Shrink or end").last.click()
        expect(page.locator("#change-title")).to_be_focused()
        assert page.locator("[name=change-gpus]").input_value() == "20"
        page.fill("[name=change-reason]", "Five wait.")
        page.get_by_role("button", name="Ask for it and sign").click()
        expect(page.locator(".toast-line")).to_contain_text("Protein folding: approved.")
        expect(outcome).to_have_text("fits")

        expect(page.locator("[data-desk-decide]")).to_have_text(re.compile("Decide 1"))
        expect(page.locator("[name=end]")).not_to_be_checked()
        assert session.complaints == []
    grant.refresh_from_db()
    assert grant.gpus == 20


def test_five_are_decided_in_one_act_and_taken_back_and_nobody_has_heard(visit, lab, five, settings):
    settings.UNDO_S = 60
    Pitch.objects.all().update(ideal_gpus=4, offered_gpus=4)
    for pitch in five:
        factories.sign_off(pitch, lab.head, "research-head", gpus=4)
    before = list(Pitch.objects.order_by("pk").values("state", "round", "offered_gpus", "decided_at", "waitlist_rank"))
    with visit(lab.chief) as session:
        page = session.page
        page.goto("/desk/?division=research&model=H100")
        rows = page.locator(".desk-row")
        shown = rows.all_inner_texts()
        page.keyboard.press("j")
        for _number in range(3):
            page.keyboard.press("a")
        page.keyboard.press("d")
        page.keyboard.type("Not before the baseline.")
        page.keyboard.press("Enter")
        page.keyboard.press("j")
        page.keyboard.press("w")
        page.keyboard.press("Enter")
        expect(page.locator(".desk-foot")).to_contain_text(
            "You can undo an answer to a pitch for 60 seconds; then it is final and those concerned are told."
        )
        _decide(page)
        expect(page.locator(".desk-outcome")).to_have_count(5)
        decided = sorted(Pitch.objects.values_list("state", flat=True))
        expect(page.locator(".undo")).to_contain_text("Nobody is told yet.")
        page.keyboard.press("u")
        expect(page.locator(".desk-outcome", has_text="Taken back. Nobody was told.")).to_have_count(5)

        assert decided == ["declined", "granted", "granted", "granted", "waitlisted"]
        assert rows.all_inner_texts() == shown
        assert session.complaints == []
    assert list(Pitch.objects.order_by("pk").values(*before[0])) == before
    assert set(SignOff.objects.values_list("person__username", flat=True)) == {"research-head"}
    assert (Grant.objects.filter(pitch__isnull=False).count(), OutboxMessage.objects.count()) == (0, 0)
    assert Notice.objects.count() == 0
