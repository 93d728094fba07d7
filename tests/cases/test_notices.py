"""Notices: one for each stage and row, however often the clock looks; a burst is one letter."""

from collections import Counter
from datetime import timedelta

import pytest
from django.core import mail

from allocations import changes, emergencies, loans, outbox, pitches, tasks
from allocations.models import Notice, Pitch
from inventory import trail
from tests import factories
from tests.allocations.acts import approve, submit
from tests.allocations.changes.acts import ask, policy
from tests.cases.acts import signed

pytestmark = pytest.mark.django_db

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
# What the clock alone says in these days, each of which the world below has on its way.
STAGES = {
    "pitch.reminded", "pitch.escalated", "pitch.answer_reminded", "pitch.fits", "change.reminded", "grant.not_kept",
    "emergency.lapsed", "loan.reminded", "loan.returned", "result.asked",
}  # fmt: skip


@pytest.fixture
def stages(world, noon):
    """Work in every stage of which people hear by the clock, within four days from Monday noon on."""
    policy(world, "extension", "research-head", keeps_while_asked=True, due_working_days=2, division=world.research)
    ending = factories.grant(world.project, gpus=20, starts_at=noon - DAY, ends_at=noon + 3 * DAY)
    lent = factories.grant(world.project, gpus=5, starts_at=noon, ends_at=noon + 30 * DAY)
    ask(world, ending)
    waiting, offered, listed, result, urgent = (
        submit(world, gpus=4, title=title, check_on=(noon + 2 * DAY).date(), **terms)
        for title, terms in {
            "waiting": {}, "offered": {}, "listed": {}, "result": {"days": 30}, "urgent": {"days": 30},
        }.items()
    )  # fmt: skip
    approve(world, waiting, world.chief, "chief-scientist")
    signed(world, offered, gpus=1)
    pitches.sign_off(
        pitch=listed, by=world.chief, role=world.role("chief-scientist"), verdict="waitlist", round=listed.round
    )
    signed(world, result)
    emergencies.grant_emergency(pitch=urgent, by=world.chief, reason="The paper.")
    loan = loans.propose_loan(
        lender=world.project, borrower=world.applied_project, model=lent.model, gpus=5, starts_at=noon,
        ends_at=noon + 3 * DAY, reason="Your run starts later.", by=world.applied_lead,
    )  # fmt: skip
    loans.answer_loan(loan=loan, by=world.lead, agrees=True)
    factories.grant(world.project, gpus=55, starts_at=noon + 3 * DAY, ends_at=noon + 4 * DAY)
    return Pitch.objects.count()


def test_each_stage_of_a_row_is_told_once_to_each_however_often_the_clock_looks(stages, time_machine, noon):
    """iTwin/itwinjs-core#37: one notice per stage and grant, not one every ten minutes."""
    around = range(70 * 60, 74 * 60, 10)  # noon of Thursday, when most of it is due
    for minutes in sorted({*range(0, 100 * 60, 60), *around}):
        time_machine.move_to(noon + minutes * MINUTE, tick=False)
        tasks.tend()
        tasks.remind()

    told = Notice.objects.values_list(
        "person__username", "event__verb", "event__subject_kind", "event__subject_id", "subject"
    )
    assert [what for what, times in Counter(told).items() if times > 1] == []
    assert STAGES - set(Notice.objects.values_list("event__verb", flat=True)) == set()


@pytest.mark.parametrize("hours", [1, 24])
def test_after_an_outage_each_mail_comes_once_and_a_burst_as_one(lab, settings, noon, time_machine, hours):
    """civicrm/civicrm-core PR#31600; 500 GPUs down at once: one digest."""
    settings.EMAIL_BACKEND = "tests.cases.test_decisions.Down"
    for number in range(500):
        event = trail.record("project.resumed", lab.project, by=lab.ops)
        changes.common.tell(event, [lab.ops], f"GPU {number} is lost", "It answers no more.", f"/nodes/n-{number}/")
    event = trail.record("project.resumed", lab.project, by=lab.ops)
    changes.common.tell(event, [lab.lead], "It goes on", "All of it.", "/projects/protein-folding/")
    for step in range(6):
        time_machine.move_to(noon + step * timedelta(hours=hours) / 6, tick=False)
        outbox.deliver_due()
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    time_machine.move_to(noon + timedelta(hours=hours + 2), tick=False)

    for _ in range(3):
        outbox.deliver_due()

    assert sorted((letter.to[0], letter.subject) for letter in mail.outbox) == [
        ("lead@lab.example", "It goes on"),
        ("ops@lab.example", "500 notices, the first: GPU 0 is lost"),
    ]
