"""The split in a browser: its consequences while it is typed, then the two signatures."""

import pytest
from playwright.sync_api import expect

from allocations.models import Split
from tests.browser import world


@pytest.fixture
def rows(server, lab):
    return world.fill(lab)


def test_a_split_shows_its_debt_while_it_is_typed_and_holds_after_both_signed(visit, lab, rows):
    with visit(lab.ceo) as session:
        session.page.goto("/split/")
        expect(session.page.locator("#preview")).to_contain_text("Nobody stands over the share.")
        session.page.fill("[name=p-all-research]", "20")
        expect(session.page.locator("#preview")).to_contain_text("Research stands 3 H100 over its share.")
        session.page.fill("[name=p-all-research]", "90")
        expect(session.page.locator("#preview")).to_contain_text("more than 100 % together")
        session.page.fill("[name=p-all-research]", "50")
        expect(session.page.locator("#preview")).to_contain_text("Nobody stands over the share.")
        session.page.fill("#split-form [name=reason]", "Spring.")
        session.page.get_by_role("button", name="Propose it").click()
        expect(session.page.locator(".toast-line")).to_contain_text("Proposed.")
        session.page.locator(".proposal", has_text="Spring.").get_by_role("button", name="Sign as CEO").click()
        expect(session.page.locator(".toast-line")).to_contain_text("It waits for the other signature.")
    with visit(lab.ceo_apps) as session:
        session.page.goto("/split/")
        session.page.locator(".proposal", has_text="Spring.").get_by_role(
            "button", name="Sign as CEO of applications"
        ).click()
        expect(session.page.locator(".toast-line")).to_contain_text("Signed by all")

    assert list(Split.objects.filter(reason="Spring.").values_list("state", flat=True)) == ["signed"]
