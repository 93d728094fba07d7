"""Loans: the lender's lead agrees, the lender does without, the borrower needs; at the return it is the other way."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from allocations import changes, grants, loans, planner, queries
from allocations.days import daily_hours
from allocations.errors import BadTerms, NotAllowed, OverCapacity, OverShare, WrongState
from allocations.models import Deputy, Grant, Loan
from inventory.models import Event
from tests import factories
from tests.allocations.acts import told, verbs
from tests.races import Window, at_once, kinds

DAY = timedelta(days=1)


def fresh(row):
    return type(row).objects.get(pk=row.pk)


@pytest.fixture
def lent(world, noon):
    """What the lender has: 16 of 60 H100 until 31 March."""
    return factories.grant(world.project, gpus=16, starts_at=noon, ends_at=noon + 30 * DAY)


def propose(world, *, by=None, gpus=8, start=None, end=None, **more):
    now = timezone.now()
    said = {
        "lender": world.project, "borrower": world.applied_project, "model": factories.model(), "gpus": gpus,
        "starts_at": start or now, "ends_at": end or now + 10 * DAY, "reason": "Your run starts later.",
    }  # fmt: skip
    return loans.propose_loan(by=by or world.applied_lead, **{**said, **more})


def agreed(world, **more):
    return loans.answer_loan(loan=propose(world, **more), by=world.lead, agrees=True)


def missing():
    return {row.project.slug: row.missing_gpus for row in queries.needs()}


@pytest.mark.django_db
class TestConsent:
    @pytest.mark.parametrize("login", ["lead", "applied-lead", "ops", "chief-scientist", "ceo"])
    def test_either_lead_ops_or_a_decider_proposes(self, world, lent, login):
        loan = propose(world, by=world.everyone[login])

        assert (loan.state, missing()) == ("proposed", {"protein-folding": 16})

    @pytest.mark.parametrize("login", ["pitcher", "stranger", "auditor", "admin"])
    def test_nobody_else_proposes(self, world, lent, login):
        with pytest.raises(NotAllowed):
            propose(world, by=world.everyone[login])

    def test_the_lender_s_lead_agrees_and_nobody_for_the_lead(self, world, lent, noon):
        loan = propose(world)
        Deputy.objects.create(
            principal=world.chief, deputy=world.team_mate, role=world.role("chief-scientist"), during=(noon, None),
            set_by=world.chief,
        )  # fmt: skip
        for login in ("applied-lead", "chief-scientist", "team-mate", "ops", "ceo"):
            with pytest.raises(NotAllowed):
                loans.answer_loan(loan=loan, by=world.everyone[login], agrees=True)

        loans.answer_loan(loan=loan, by=world.lead, agrees=True)

        assert (fresh(loan).state, fresh(loan).grant.project) == ("agreed", world.applied_project)
        assert told("loan.agreed") == ["applied-lead"]

    def test_a_decline_says_why(self, world, lent):
        loan = propose(world)
        with pytest.raises(BadTerms):
            loans.answer_loan(loan=loan, by=world.lead, agrees=False)
        loans.answer_loan(loan=loan, by=world.lead, agrees=False, reason="We need them.")

        assert (fresh(loan).state, Grant.objects.count()) == ("declined", 1)

    def test_no_more_is_lent_than_the_lender_was_promised_for_all_of_the_time(self, world, lent, noon):
        with pytest.raises(OverCapacity):
            propose(world, gpus=17)
        with pytest.raises(OverCapacity):
            propose(world, end=noon + 31 * DAY)
        agreed(world, gpus=10)

        with pytest.raises(OverCapacity) as refused:
            propose(world, by=world.lead, gpus=7)

        assert refused.value.message == ("Protein folding has 6 H100 to lend for all of that time; you asked for 7.")

    def test_who_does_not_see_the_lender_is_not_told_what_it_has(self, world, lent, noon):
        with pytest.raises(OverCapacity) as refused:
            propose(world, by=world.applied_lead, gpus=17)

        told_them = (refused.value.message, dict(refused.value.facts))
        assert told_them == (
            "Protein folding does not have 17 H100 to lend for all of that time.",
            {"field": "gpus", "asked_gpus": 17},
        )


@pytest.mark.django_db
class TestNeedAndReturn:
    def test_the_lender_does_without_and_the_borrower_needs(self, world, lent, noon):
        agreed(world)

        assert missing() == {"protein-folding": 8, "assistant": 8}

    def test_at_the_start_the_lender_s_gpus_are_the_donor_and_at_the_return_the_borrower_s(
        self, world, lent, noon, time_machine
    ):
        cards = factories.fleet(gpus=16)
        for card in cards:
            factories.assignment(card, world.project, grant=lent)
            factories.reading(card, world.project.slug, running=1)
        loan = agreed(world)
        snapshot = queries.build_snapshot()
        donors = [unit for unit in snapshot.units if unit.source is planner.Source.ENDED]
        assert ([unit.holder for unit in donors], missing()) == (["protein-folding"] * 8, {"assistant": 8})

        proposal = planner.propose(snapshot, queries.need_of(loan.grant))
        assert len(proposal.picks) == 8

        given = {unit.gpu_id for unit in donors}
        for card in cards:
            if card.pk in given:
                card.assignments.all().delete()
                factories.assignment(card, world.applied_project, grant=loan.grant)
                factories.reading(card, world.applied_project.slug, running=1)
        assert missing() == {}
        time_machine.move_to(noon + 10 * DAY, tick=False)
        for card in cards:
            factories.reading(card, fresh(card).reading.holder, running=1)

        back = [unit for unit in queries.build_snapshot().units if unit.source is planner.Source.ENDED]
        assert ({unit.gpu_id for unit in back}, missing()) == (given, {"protein-folding": 8})

    def test_the_division_that_lends_pays_its_share(self, world, lent, noon):
        before = queries.capacity_of(factories.model(), at=noon)
        agreed(world)
        after = queries.capacity_of(factories.model(), at=noon)

        for slug in ("research", "applied"):
            assert after.divisions[slug].promised == before.divisions[slug].promised

    def test_a_promise_that_ends_under_a_loan_goes_on_counting_for_the_lender_s_division(self, world, lent, noon):
        agreed(world)
        grants.end_grant(grant=lent, by=world.lead, reason="Done.")

        own = queries.capacity_of(factories.model(), at=noon).divisions["research"]
        assert (own.promised.at(noon), own.promised.at(noon + 10 * DAY)) == (8, 0)
        with pytest.raises(OverShare):
            grants.require_room(
                project=world.project, model=factories.model(), gpus=53, starts_at=noon, ends_at=noon + DAY
            )

    def test_one_whose_grant_is_ended_by_hand_is_returned_and_can_be_lent_again(self, world, lent, noon, time_machine):
        loan = agreed(world)
        time_machine.move_to(noon + DAY, tick=False)
        grants.end_grant(grant=loan.grant, by=world.applied_lead, reason="The run is over.")
        loans.tend()

        assert (fresh(loan).state, fresh(loan).returned_at) == ("returned", noon + DAY)
        assert queries.lendable(world.project, factories.model()).at(noon + 2 * DAY) == lent.gpus

    def test_its_grant_is_not_made_smaller(self, world, lent, noon):
        loan = agreed(world)

        with pytest.raises(WrongState):
            changes.ask_change(grant=loan.grant, by=world.ceo_apps, gpus=1, reason="One will do.")

    def test_both_leads_are_reminded_once_and_it_is_returned_once(self, world, lent, noon, time_machine):
        loan = agreed(world)
        time_machine.move_to(noon + 6 * DAY, tick=False)
        loans.tend()
        assert told("loan.reminded") == []
        time_machine.move_to(noon + 8 * DAY, tick=False)
        loans.tend()
        loans.tend()
        assert told("loan.reminded") == ["applied-lead", "lead"]
        time_machine.move_to(noon + 11 * DAY, tick=False)
        loans.tend()
        loans.tend()

        assert (fresh(loan).state, fresh(loan).returned_at) == ("returned", noon + 10 * DAY)
        assert verbs(loan)[-2:] == ["loan.reminded", "loan.returned"]
        assert told("loan.returned") == ["applied-lead", "lead"]

    def test_given_back_early_the_lender_has_its_need_at_once(self, world, lent, noon, time_machine):
        loan = agreed(world)
        time_machine.move_to(noon + DAY, tick=False)
        with pytest.raises(NotAllowed):
            loans.return_loan(loan=loan, by=world.lead)

        loans.return_loan(loan=loan, by=world.applied_lead)

        assert (fresh(loan).state, missing()) == ("returned", {"protein-folding": 16})


@pytest.mark.django_db
class TestNightly:
    """Agreed once for all nights, 22-07 by the site's clock, over a change of the clocks."""

    @pytest.fixture
    def nightly(self, world, time_machine, settings):
        settings.SITE_TIME_ZONE = "Europe/Berlin"
        start = datetime(2027, 3, 20, 12, tzinfo=UTC)
        time_machine.move_to(start, tick=False)
        factories.grant(world.project, gpus=16, starts_at=start, ends_at=start + 30 * DAY)
        return agreed(world, end=start + 20 * DAY, daily_from=time(22), daily_until=time(7))

    @pytest.mark.parametrize(
        ("at", "lent"),
        [
            (datetime(2027, 3, 20, 20, 59, tzinfo=UTC), False),  # 21:59 in winter
            (datetime(2027, 3, 20, 21, 0, tzinfo=UTC), True),
            (datetime(2027, 3, 21, 5, 59, tzinfo=UTC), True),
            (datetime(2027, 3, 21, 6, 0, tzinfo=UTC), False),  # 07:00
            (datetime(2027, 3, 28, 4, 59, tzinfo=UTC), True),  # 06:59 in summer: this night is an hour shorter
            (datetime(2027, 3, 28, 5, 0, tzinfo=UTC), False),
            (datetime(2027, 3, 28, 20, 0, tzinfo=UTC), True),  # 22:00 in summer
        ],
    )
    def test_by_night_the_borrower_needs_them_and_by_day_the_lender(self, nightly, time_machine, at, lent):
        time_machine.move_to(at, tick=False)

        assert missing() == ({"protein-folding": 8, "assistant": 8} if lent else {"protein-folding": 16})

    def test_a_night_has_no_hole_where_the_clock_shows_an_hour_twice(self, settings):
        hours = list(
            daily_hours(
                time(22), time(2, 30), ZoneInfo("Europe/Berlin"),
                start=datetime(2027, 10, 30, 12, tzinfo=UTC), end=datetime(2027, 10, 31, 12, tzinfo=UTC),
            )
        )  # fmt: skip

        assert hours == [(datetime(2027, 10, 30, 20, tzinfo=UTC), datetime(2027, 10, 31, 1, 30, tzinfo=UTC))]

    def test_both_hours_or_none(self, world, lent):
        with pytest.raises(BadTerms):
            propose(world, daily_from=time(22))


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_agreed_twice_at_once_is_one_loan(self, world, monkeypatch):
        factories.grant(world.project, gpus=16, ends_at=timezone.now() + 30 * DAY)
        loan = propose(world)
        rows = [fresh(loan), fresh(loan)]
        monkeypatch.setattr(loans, "_require_lendable", Window().before(loans._require_lendable))

        outcomes = at_once(*(lambda row=row: loans.answer_loan(loan=row, by=world.lead, agrees=True) for row in rows))

        assert kinds(outcomes) == ["Loan", "Loan"]
        assert Grant.objects.count() == 2
        assert Event.objects.filter(verb="loan.agreed").count() == 1

    def test_two_loans_at_once_do_not_lend_the_same_gpus(self, world, monkeypatch):
        factories.grant(world.project, gpus=16, ends_at=timezone.now() + 30 * DAY)
        other = factories.project(division=world.research)
        rows = [propose(world, gpus=10), propose(world, gpus=10, borrower=other, by=world.lead)]
        monkeypatch.setattr(loans, "_require_lendable", Window().after(loans._require_lendable))

        outcomes = at_once(*(lambda row=row: loans.answer_loan(loan=row, by=world.lead, agrees=True) for row in rows))

        assert kinds(outcomes) == ["Loan", "OverCapacity"]
        assert Loan.objects.filter(state="agreed").count() == 1
