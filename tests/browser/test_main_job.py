"""The main job in a browser: pitch, room shown while typing, both signatures, plan, commit, done by a reading.

The nodes are simulated agents over real HTTP and TLS; between two looks at a page the worker's part is played here.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from allocations import executor
from allocations.models import Grant, Move, Pitch
from inventory.drivers import loop
from inventory.models import Node
from inventory.survey import survey_nodes
from tests import factories
from tests.inventory.simulated import Simulated, simulated

PASSWORD = "a long enough one"
TITLE = "Pretrain at a million tokens"


@pytest.fixture
def fleet(server, lab, tmp_path) -> Iterator[Simulated]:
    """32 free GPUs on four simulated nodes, of which Research may promise 19; everybody here knows a password."""
    factories.split()
    model = factories.model("NVIDIA H100")
    for person in (lab.pitcher, lab.head, lab.chief, lab.ops):
        person.set_password(PASSWORD)
        person.save()
    with simulated(tmp_path, nodes=4, gpus=8) as fleet:
        for at in fleet.nodes():
            factories.node(
                at.name, model=model, gpus=8, cards=0, island="oslo-a", address=at.address, token=at.token,
                certificate_sha256=at.certificate_sha256,
            )  # fmt: skip
        survey_nodes(Node.objects.all())
        yield fleet
    loop.close()


def log_in(page: Page, login: str) -> None:
    """The person is logged in by name and password and stands at home."""
    page.goto("/login/")
    page.fill("#id_username", login)
    page.fill("#id_password", PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Home")


def write_pitch(page: Page) -> None:
    """The pitch is submitted; on the way the panel has said that too many do not fit and that 16 do."""
    page.get_by_role("link", name="New pitch").click()
    page.fill("#id_title", TITLE)
    page.fill("#id_ideal_gpus", "20")
    expect(page.locator("#outlook")).to_contain_text("It does not fit as asked.")
    page.fill("#id_ideal_gpus", "16")
    expect(page.locator("#outlook")).to_contain_text("At the tightest moment 19 are free; 3 would be left.")
    page.check("#id_one_island")
    page.fill("#id_why", "The eight-node runs plateau.")
    page.get_by_role("button", name="Submit for signatures").click()
    expect(page.locator(".toast-line")).to_contain_text("It now waits for: Chief scientist, Research head.")


def sign(page: Page, told: str) -> None:
    """The first pitch of the queue is approved with one key."""
    page.goto("/queue/")
    expect(page.locator("#item-title")).to_have_text(TITLE)
    page.keyboard.press("a")
    expect(page.locator(".undo")).to_contain_text(told)


def plan_and_commit(page: Page) -> None:
    """The one need has a plan, and the plan is committed; nobody is disturbed by it."""
    page.goto("/reshuffle/")
    page.get_by_role("button", name="Propose a plan").click()
    expect(page.get_by_text("Nobody: these GPUs are nobody's.")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Commit: move 16 GPUs")).click()
    page.wait_for_url("**/plans/*/")


def work(fleet: Simulated) -> None:
    """What the workers do meanwhile: a pass, the drains, a pass, a survey, a pass."""
    Move.objects.update(tried_at=None)
    executor.run_pass()
    fleet.clock.advance(10)
    executor.run_pass()
    survey_nodes(Node.objects.all())
    executor.run_pass()


def stands(page: Page, address: str) -> tuple[str, list[str]]:
    """The sentence and the finished steps of the pitch's page."""
    page.goto(address)
    return page.locator(".page-lede").inner_text(), page.locator(".step-done strong").all_inner_texts()


def test_the_whole_job_from_the_pitch_to_gpus_that_a_reading_proves(visit, lab, fleet):
    signed = ["Pitched", "Chief scientist", "Research head", "Grant"]
    with visit() as session:
        log_in(session.page, "pitcher")
        write_pitch(session.page)
        address = session.page.url
        assert session.complaints == []
    with visit() as session:
        log_in(session.page, "research-head")
        sign(session.page, "It waits for the other signatures.")
    with visit() as session:
        log_in(session.page, "chief-scientist")
        sign(session.page, "Granted: 16 NVIDIA H100 for ")
    with visit(lab.pitcher) as pitcher, visit() as ops:
        promised = stands(pitcher.page, address)
        log_in(ops.page, "ops")
        plan_and_commit(ops.page)
        assigned = stands(pitcher.page, address)
        work(fleet)
        proved = stands(pitcher.page, address)
        ops.page.reload()
        expect(ops.page.locator("#progress")).to_contain_text("16 of 16 done")
        assert (pitcher.complaints, ops.complaints) == ([], [])

    assert Pitch.objects.get(title=TITLE).state == Pitch.State.GRANTED
    assert list(Grant.objects.values_list("gpus", "one_island")) == [(16, True)]
    assert promised == ("Promised; 16 GPUs are still to be assigned by ops.", signed)
    assert assigned == ("All GPUs are assigned; the machines switch them, and a reading proves each one.", signed)
    assert proved == ("All GPUs are in the project's hands, proven by readings.", [*signed, "GPUs"])
    assert [gpu["holder"] for gpu in fleet.control.gpus().values()].count("protein-folding") == 16
