"""What is due on a day happens once, also where workers were down, run twice, or run at the same time."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import changes, emergencies, exceptions, grants, loans, results, tasks
from allocations.changes import due
from allocations.models import Grant, Pitch
from inventory.models import Event
from tests import factories
from tests.allocations.acts import submit, told
from tests.allocations.changes.acts import both_sign, policy
from tests.cases.acts import fresh, page_of, promised
from tests.races import Window, at_once

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
WEEK = 7 * DAY


def release(world, noon):
    """24 of 32 GPUs come back in seven days."""
    grant = factories.grant(world.project, gpus=32, starts_at=noon, ends_at=noon + 14 * DAY)
    change = changes.ask_change(grant=grant, by=world.chief, gpus=8, takes_effect_at=noon + WEEK, reason="Others wait.")
    both_sign(world, change)
    return lambda: fresh(grant).gpus == 8


def loan(world, noon):
    """What is lent comes back in seven days."""
    factories.grant(world.project, gpus=16, starts_at=noon, ends_at=noon + 30 * DAY)
    row = loans.propose_loan(
        lender=world.project, borrower=world.applied_project, model=factories.model(), gpus=8, starts_at=noon,
        ends_at=noon + WEEK, reason="Your run starts later.", by=world.applied_lead,
    )  # fmt: skip
    loans.answer_loan(loan=row, by=world.lead, agrees=True)
    return lambda: fresh(row).state == "returned"


def emergency(world, noon):
    """A grant that nobody ratifies ends in seven days."""
    policy(world, "emergency", "research-head", division=world.research, due_working_days=5)
    grant = emergencies.grant_emergency(pitch=submit(world, days=30), by=world.chief, reason="The paper.")
    return lambda: fresh(grant).ends_at == noon + WEEK and grant.ratify_by == noon + WEEK


def result(world, noon):
    """The result is asked for in seven days."""
    grant = promised(world, check_on=(noon + WEEK).date())
    return lambda: hasattr(fresh(grant), "result_check")


CLOCKED = [
    (release, "grant.shrunk", 0),
    (loan, "loan.returned", 2),
    (emergency, "emergency.lapsed", 3),
    (result, "result.asked", 2),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("begin", "verb", "notices"), CLOCKED, ids=[each[0].__name__ for each in CLOCKED])
@pytest.mark.parametrize("down_for", [timedelta(), timedelta(hours=5), 3 * DAY], ids=["up", "hours", "days"])
def test_what_is_due_in_seven_days_happens_once(world, noon, time_machine, begin, verb, notices, down_for):
    """celery/kombu#337: "release in 7 days" happened again with every restart of a worker."""
    has_happened = begin(world, noon)
    starts_over = timezone.localtime(noon + WEEK).replace(hour=0) if begin is result else noon + WEEK

    def tick(at):
        time_machine.move_to(at, tick=False)
        tasks.tend()
        tasks.tend()  # a message that a worker had taken and that came back

    for day in range(7):
        tick(noon + day * DAY)
    if begin is not result:
        tick(starts_over - MINUTE)
    assert not Event.objects.filter(verb=verb).exists()
    tick(starts_over + down_for)
    for day in range(1, 4):
        tick(starts_over + down_for + day * DAY)

    assert has_happened()
    assert Event.objects.filter(verb=verb).count() == 1
    assert len(told(verb)) == notices


@pytest.mark.django_db(transaction=True)
def test_two_workers_release_at_once_and_it_is_released_once(world, monkeypatch):
    """celery/kombu#337: two workers that have both taken the message."""
    now = timezone.now()
    grant = factories.grant(world.project, gpus=32, starts_at=now - DAY, ends_at=now + WEEK)
    change = changes.ask_change(
        grant=grant, by=world.chief, gpus=8, takes_effect_at=now + timedelta(seconds=30), reason="Others wait."
    )
    both_sign(world, change)
    type(change).objects.update(takes_effect_at=now)
    monkeypatch.setattr(due, "lock_row", Window().before(due.lock_row))

    at_once(changes.tend, changes.tend)

    assert (fresh(grant).gpus, Event.objects.filter(verb="grant.shrunk").count()) == (8, 1)


@pytest.mark.django_db
def test_an_exception_is_over_on_its_second_and_the_page_shows_the_debt(world, client, noon, time_machine):
    """kubernetes-sigs/kueue#8654: no worker has to run for it, and what is above then shows as debt."""
    ends_at = noon + WEEK
    row = exceptions.propose_exception(
        division=world.research, model=factories.model(), gpus=20, starts_at=noon, ends_at=ends_at, by=world.chief,
        reason="The deadline is in May.",
    )  # fmt: skip
    for head in (world.ceo, world.ceo_apps):
        exceptions.sign_exception(exception=row, by=head)
    factories.grant(world.project, gpus=75, starts_at=noon, ends_at=noon + 2 * WEEK)

    def debt(at):
        time_machine.move_to(at, tick=False)
        answer = page_of(client, world.chief, "split")
        [model] = answer.context["models"]
        return [part["debt"] for part in model["parts"]], "15 over" in answer.content.decode()

    assert debt(ends_at - timedelta(seconds=1))[0] == [0, 0]
    assert debt(ends_at) == ([15, 0], True)


@pytest.mark.django_db
def test_a_grant_that_ended_has_nothing_left_that_a_later_tick_does(world, noon, time_machine):
    """celery/kombu#337: a release that is due after an early end finds nothing to do."""
    grant = factories.grant(world.project, gpus=32, starts_at=noon, ends_at=noon + 14 * DAY)
    both_sign(
        world,
        changes.ask_change(grant=grant, by=world.chief, gpus=8, takes_effect_at=noon + WEEK, reason="Others wait."),
    )
    grants.end_grant(grant=fresh(grant), by=world.lead, reason="Done.")
    said = Event.objects.count()
    for day in range(15):
        time_machine.move_to(noon + day * DAY, tick=False)
        tasks.tend()

    assert (fresh(grant).ends_at, Grant.objects.count(), Pitch.objects.count()) == (noon, 1, 0)
    assert list(Event.objects.order_by("pk").values_list("verb", flat=True))[said:] == []
    assert results.ResultCheck.objects.count() == 0
