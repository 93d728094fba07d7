"""The decision desk in a browser: what is marked shows at once, by the same rule as the server's."""

import json
from datetime import timedelta

from django.utils import timezone
from playwright.sync_api import expect

from allocations import deputies
from allocations.desk import judge
from allocations.models import Pitch, SignOff
from tests import factories
from tests.allocations.desk.cases import table

CASES = 300


def _lab_with(lab, *sizes: int, gpus: int = 64) -> list[Pitch]:
    """Research may promise 60 % of so many H100; a pitch of each size, half of it as its least."""
    factories.split()
    factories.fleet(gpus=gpus)
    return [
        factories.submitted(
            lab.project, lab.pitcher, title=f"Pitch {number}", gpus=size, min_gpus=max(1, size // 2),
            days=14 * (1 + number % 3), start_on=timezone.now().date() + timedelta(days=7 * (number % 4)),
        )
        for number, size in enumerate(sizes, start=1)
    ]  # fmt: skip


def test_what_is_marked_shows_at_once_what_falls_out(visit, lab):
    _lab_with(lab, 30, 30)
    with visit(lab.chief) as session:
        page = session.page
        page.goto("/desk/")
        page.keyboard.press("j")
        page.keyboard.press("Space")

        out = page.locator(".desk-row.is-out")
        expect(out).to_have_count(1)
        assert out.locator("[data-desk-outcome]").inner_text().startswith("22 short from ")
        assert page.locator(".desk-row.is-taken [data-desk-displaced]").inner_text() == "#2"
        page.keyboard.press("j")
        page.keyboard.press("Space")
        expect(page.locator("[data-desk-left]")).to_have_text("22 over")
        heights = page.locator(".desk-week .over").evaluate_all("boxes => boxes.map((b) => +b.getAttribute('height'))")
        assert max(heights) > 0
        page.keyboard.press("K")
        titles = page.locator(".desk-row .row-link").all_inner_texts()
        assert titles == ["Pitch 2", "Pitch 1"]
        assert session.complaints == []


def test_the_suggested_set_comes_by_a_key_and_says_why(visit, lab):
    _lab_with(lab, 30, 30, 8)
    with visit(lab.chief) as session:
        page = session.page
        page.goto("/desk/")
        page.keyboard.press("s")
        page.wait_for_selector(".desk-suggestion")

        assert page.locator("#suggestion-title").inner_text() == "Suggested set: #1, #2, #3"
        assert page.locator(".desk-row.is-out").count() == 0
        assert page.locator(".desk-row.is-taken").count() == 3
        assert session.complaints == []
    assert SignOff.objects.count() == 0


def test_the_browser_and_the_server_judge_alike(visit, lab):
    cases = table(CASES, seed=11)
    _lab_with(lab, 8)
    with visit(lab.chief) as session:
        session.page.goto("/desk/")
        found = session.page.evaluate(
            """cases => cases.map(([room, asks, taken]) => {
                 const judged = window.allotDesk.judge(room, asks, new Map(taken));
                 return [judged.left, asks.map(({key}) => {
                   const {fits, short, free, at, displaces} = judged.findings.get(key);
                   return [fits, short, free, at, displaces];
                 })];
               })""",
            [
                [
                    case.room,
                    [{"key": ask.key, "first": ask.first, "last": ask.last, "gpus": ask.gpus} for ask in case.asks],
                    list(case.taken.items()),
                ]
                for case in cases
            ],
        )

    expected = []
    for case in cases:
        judged = judge(case.room, case.asks, case.taken)
        findings = [judged.findings[ask.key] for ask in case.asks]
        expected.append(
            [list(judged.left), [[f.fits, f.short_gpus, f.free_gpus, f.at, list(f.displaces)] for f in findings]]
        )
    assert found == json.loads(json.dumps(expected))


def test_an_approver_decides_five_pitches_by_keyboard_alone(visit, lab):
    _lab_with(lab, 8, 8, 8, 8, 8)
    with visit(lab.chief) as session:
        page = session.page
        page.goto("/desk/")
        page.keyboard.press("j")
        for _number in range(3):
            page.keyboard.press("a")
        page.keyboard.press("l")
        page.keyboard.type("5")
        page.keyboard.press("Enter")
        page.keyboard.press("j")
        page.keyboard.press("d")
        page.keyboard.type("Not before the baseline.")
        page.keyboard.press("Enter")
        expect(page.locator("[data-desk-sign]")).to_have_text("You approve 4 and decline 1.")
        page.keyboard.press("Enter")
        expect(page.locator("[data-desk-decide]")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".desk-outcome")).to_have_count(5)
        focused = page.evaluate("document.activeElement.id")

        assert page.locator(".desk-outcome.is-refused").count() == 0
        assert (focused, session.complaints) == ("outcomes-title", [])

    signed = SignOff.objects.order_by("pitch__title").values_list("pitch__title", "verdict", "gpus", "reason")
    assert list(signed) == [
        ("Pitch 1", "approve", 8, ""),
        ("Pitch 2", "approve", 8, ""),
        ("Pitch 3", "approve", 8, ""),
        ("Pitch 4", "approve", 5, ""),
        ("Pitch 5", "decline", 8, "Not before the baseline."),
    ]


def test_what_is_opened_at_the_desk_counts_as_read(visit, lab, settings):
    settings.DECIDE_UNOPENED_GPUS = 7
    _lab_with(lab, 8, 8)
    with visit(lab.chief) as session:
        page = session.page
        page.goto("/desk/")
        page.keyboard.press("j")
        page.keyboard.press("o")
        expect(page.locator(".desk-detail h3").first).to_have_text("Why")
        expect(page.locator("[data-desk-unopened]")).to_have_count(1)
        page.keyboard.press("a")
        page.keyboard.press("a")
        page.keyboard.press("Enter")
        expect(page.locator("[data-desk-decide]")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".desk-outcome")).to_have_count(2)

        assert page.locator(".desk-outcome.is-refused .row-link").all_inner_texts() == ["Pitch 2"]
        assert session.complaints == []
    assert list(SignOff.objects.values_list("pitch__title", flat=True)) == ["Pitch 1"]


def test_a_grant_that_is_left_out_refills_the_bar_at_once(visit, lab):
    _lab_with(lab, 30)
    factories.grant(lab.project, gpus=20)
    with visit(lab.chief) as session:
        page = session.page
        page.goto("/desk/")
        outcome = page.locator("[data-desk-outcome]")
        before = outcome.inner_text()
        page.locator(".desk-promises summary").click()
        page.locator("[name=end]").check()
        expect(outcome).to_have_text("fits")

        assert before.startswith("12 short from ")
        assert session.complaints == []


def test_a_preparer_saves_and_a_decider_opens_it(visit, lab):
    _lab_with(lab, 8, 8)
    with visit(lab.head) as session:
        page = session.page
        page.goto("/desk/")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("Space")
        page.locator(".desk-save summary").click()
        page.fill("#scenario-name", "Only the second")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".desk-scenarios .row-link")).to_have_text("Only the second")
        assert session.complaints == []
    with visit(lab.chief) as session:
        page = session.page
        page.goto("/desk/")
        page.get_by_role("link", name="Only the second").click()

        expect(page.locator(".desk-row.is-taken .row-link")).to_have_text("Pitch 2")
        assert session.complaints == []
    assert SignOff.objects.count() == 0


def test_a_deputy_works_through_open_items(visit, lab):
    _lab_with(lab, 8, 8, 8)
    hugo, now = factories.person("hugo"), timezone.now()
    deputies.set_deputy(
        principal=lab.chief, deputy=hugo, role=lab.role("chief-scientist"), starts_at=now,
        until=now + timedelta(days=7), reason="", by=lab.chief,
    )  # fmt: skip
    with visit(hugo) as session:
        page = session.page
        page.goto("/queue/")
        expect(page.locator("#item-title")).to_have_text("Pitch 1")
        page.keyboard.press("a")
        expect(page.locator("#item-title")).to_have_text("Pitch 2")
        page.goto("/desk/")
        page.keyboard.press("j")
        for _number in range(3):  # the first one waits for somebody else now and is only weighed
            page.keyboard.press("a")
        page.keyboard.press("Enter")
        expect(page.locator("[data-desk-decide]")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".desk-outcome:not(.is-refused)")).to_have_count(2)
        page.goto("/queue/")
        expect(page.locator("main")).to_contain_text("Nothing waits for your signature")
        page.wait_for_load_state("networkidle")

        assert session.complaints == []
    signed = set(SignOff.objects.values_list("person__username", "deputy_for__username"))
    assert (SignOff.objects.count(), signed) == (3, {("hugo", "chief-scientist")})
