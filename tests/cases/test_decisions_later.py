"""Requests that wait for long, and decided ones that are read long after: nothing lapses, nothing is lost."""

from datetime import timedelta

import pytest

from allocations import exceptions, loans, pitches, projects, splits, tasks
from allocations.models import Grant, GrantChange, Loan, Pitch, SignOff, Split, SplitException
from tests import factories
from tests.allocations.acts import approve, decline, submit
from tests.allocations.changes.acts import ask
from tests.cases.acts import fresh, page_of, pressed, signed

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
REASON = "The other run shows that it cannot work."


class TestNothingLapses:
    @pytest.fixture
    def waiting(self, world, noon):
        """Everything that can wait for somebody: five stages of a pitch, a change, a split, an exception, a loan."""
        grant = factories.grant(world.project, gpus=20, starts_at=noon, ends_at=noon + 600 * DAY)
        rows = [submit(world, gpus=8, title=title) for title in ("new", "half", "offered", "waitlisted", "changes")]
        for row, verdict in ((rows[3], "waitlist"), (rows[4], "changes")):
            _sign(world, row, verdict)
        approve(world, rows[1], world.chief, "chief-scientist")
        signed(world, rows[2], gpus=4)
        percents = {"": {"research": 50, "applied": 40}}
        rows += [
            ask(world, grant),
            splits.propose_split(by=world.ceo, starts_at=noon + DAY, percents=percents),
            exceptions.propose_exception(
                division=world.research, model=factories.model(), gpus=20, starts_at=noon, ends_at=noon + 600 * DAY,
                by=world.chief, reason="The deadline.",
            ),
            loans.propose_loan(
                lender=world.project, borrower=world.applied_project, model=factories.model(), gpus=8, starts_at=noon,
                ends_at=noon + 500 * DAY, reason="Your run starts later.", by=world.applied_lead,
            ),
        ]  # fmt: skip
        return rows

    def test_a_request_waits_for_as_long_as_it_takes_and_overdue_decides_nothing(self, waiting, time_machine, noon):
        """teleport#14040: a request expired silently. Waldur's documented behaviour: overdue only escalates."""
        states = {(type(row), row.pk): fresh(row).state for row in waiting}
        assert {kind for kind, _ in states} == {Pitch, GrantChange, Split, SplitException, Loan}
        decided = _decisions()
        for day in [*range(40), *range(40, 400, 30)]:
            time_machine.move_to(noon + day * DAY, tick=False)
            for task in (tasks.tend, tasks.remind, tasks.execute, tasks.deliver):
                task()

        assert {(type(row), row.pk): fresh(row).state for row in waiting} == states
        assert _decisions() == decided

    def test_after_a_year_it_can_still_be_decided(self, world, client, waiting, time_machine, noon):
        """teleport#14040: it is decided by people, late as they are."""
        time_machine.move_to(noon + 366 * DAY, tick=False)
        half = fresh(waiting[1])

        answer = pressed(client, world.head, half, "research-head")

        grant = Grant.objects.get(pitch=half)
        assert (answer.status_code, fresh(half).state) == (302, "granted")
        assert (grant.starts_at, grant.ends_at) == (noon + 366 * DAY, noon + 380 * DAY)


def _sign(world, row, verdict):
    pitches.sign_off(
        pitch=row, by=world.chief, role=world.role("chief-scientist"), verdict=verdict, round=row.round, reason=REASON
    )


def _decisions() -> tuple[int, ...]:
    return SignOff.objects.count(), Grant.objects.count(), Pitch.objects.filter(decided_at__isnull=False).count()


class TestAYearLater:
    @pytest.mark.parametrize("verdict", ["granted", "declined"])
    @pytest.mark.parametrize("login", ["pitcher", "lead", "chief-scientist", "research-head", "auditor", "ops"])
    def test_a_decided_request_is_readable_with_its_reasons(self, world, client, noon, time_machine, verdict, login):
        """teleport#68308, coldfront#240: by its requester too, who has left the project since."""
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist", reason=REASON)
        if verdict == "granted":
            approve(world, pitch, world.head, "research-head")
        else:
            decline(world, pitch, world.head, "research-head", reason=REASON)
        projects.end_membership(project=world.project, person=world.pitcher, by=world.lead)
        time_machine.move_to(noon + 366 * DAY, tick=False)

        page = page_of(client, world.everyone[login], "pitch", pitch.public_id)
        api = client.get(f"/api/pitches/{pitch.public_id}/")

        assert (page.status_code, REASON in page.content.decode()) == (200, True)
        assert (api.json()["state"], REASON in [row["reason"] for row in api.json()["sign_offs"]]) == (verdict, True)
