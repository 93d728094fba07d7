"""A renewal of a loan: whoever may proposes it; the lender's lead and all who sign the split agree, in any order."""

from datetime import time, timedelta
from itertools import permutations

import pytest
from django.utils import timezone

from allocations import loans, queries, recusals, turns
from allocations.errors import BadTerms, NobodyToSign, NotAllowed, OverCapacity, Stale, WrongState
from allocations.models import Deputy, Grant, Loan, LoanSignature, RoleHolder
from inventory.models import Event
from tests import factories
from tests.allocations.acts import told, verbs
from tests.races import Window, at_once, kinds

DAY = timedelta(days=1)


def fresh(row):
    return type(row).objects.get(pk=row.pk)


@pytest.fixture
def lent(world, noon):
    """What the lender has: 40 of 60 H100 for 90 days."""
    return factories.grant(world.project, gpus=40, starts_at=noon, ends_at=noon + 90 * DAY)


def propose(world, *, by=None, after=0, days=10, **more):
    start = timezone.now() + after * DAY
    said = {
        "lender": world.project, "borrower": world.applied_project, "model": factories.model(), "gpus": 8,
        "starts_at": start, "ends_at": start + days * DAY, "reason": "Your run starts later.",
    }  # fmt: skip
    return loans.propose_loan(by=by or world.applied_lead, **{**said, **more})


def agree(world, loan, by=None):
    return loans.answer_loan(loan=fresh(loan), by=by or world.lead, agrees=True)


@pytest.fixture
def first(world, lent):
    return agree(world, propose(world))


@pytest.fixture
def renewal(world, first):
    return propose(world, after=12)


def press(world, loan, who):
    if who == "lead":
        return agree(world, loan)
    return loans.sign_loan(loan=fresh(loan), by=world.everyone[who])


@pytest.mark.django_db
class TestSigning:
    def test_whoever_may_propose_a_loan_proposes_its_renewal(self, world, first):
        for login in ("lead", "applied-lead", "ops", "chief-scientist", "ceo"):
            row = propose(world, by=world.everyone[login], after=12)

            assert (row.renews, [role.slug for role in row.roles.all()]) == (first, ["ceo-applications", "ceo"])

    @pytest.mark.parametrize("order", list(permutations(["lead", "ceo", "ceo-applications"])))
    def test_it_holds_with_the_last_of_all_in_any_order(self, world, renewal, order):
        for who in order[:2]:
            press(world, renewal, who)
        assert (fresh(renewal).state, fresh(renewal).grant, Grant.objects.count()) == ("proposed", None, 2)

        press(world, renewal, order[2])

        row = fresh(renewal)
        assert (row.state, row.answered_by, row.grant.project) == ("agreed", world.lead, world.applied_project)
        assert [(each.role.slug, each.person) for each in row.signatures.order_by("role")] == [
            ("ceo-applications", world.ceo_apps), ("ceo", world.ceo),
        ]  # fmt: skip
        assert sorted(verbs(row)) == ["loan.agreed", "loan.proposed", "loan.signed", "loan.signed"]

    def test_a_first_loan_needs_no_signature(self, world, lent):
        row = propose(world)

        with pytest.raises(NotAllowed):
            loans.sign_loan(loan=row, by=world.ceo)
        assert agree(world, row).state == "agreed"

    def test_who_signs_sees_it_waiting_and_is_told_once(self, world, renewal):
        assert told("loan.proposed") == ["ceo", "ceo-applications", "lead", "lead"]
        assert list(queries.loans_waiting_for(world.ceo)) == [renewal]
        press(world, renewal, "ceo")

        assert list(queries.loans_waiting_for(world.ceo)) == []
        assert list(queries.loans_waiting_for(world.ceo_apps)) == [renewal]
        assert list(queries.loans_waiting_for(world.chief)) == []
        press(world, renewal, "ceo-applications")
        assert told("loan.signed") == []
        press(world, renewal, "lead")
        assert sorted(set(told("loan.agreed"))) == ["applied-lead", "ceo", "ceo-applications"]

    def test_who_proposes_and_signs_hears_of_it_only_from_the_others(self, world, first):
        row = propose(world, by=world.ceo, after=12)

        assert told("loan.proposed") == ["applied-lead", "ceo-applications", "lead", "lead"]
        assert list(queries.loans_waiting_for(world.ceo)) == [row]

    def test_a_deputy_signs_and_it_names_both(self, world, renewal, noon):
        hugo = factories.person("hugo")
        Deputy.objects.create(
            principal=world.ceo, deputy=hugo, role=world.role("ceo"), during=(noon, None), set_by=world.ceo
        )
        assert list(queries.loans_waiting_for(hugo)) == [renewal]
        assert renewal in queries.loans_visible_to(hugo)
        loans.sign_loan(loan=renewal, by=hugo)

        given = LoanSignature.objects.get()
        assert (given.person, given.deputy_for, given.role) == (hugo, world.ceo, world.role("ceo"))
        with pytest.raises(Stale):
            loans.sign_loan(loan=renewal, by=world.ceo)

    def test_two_different_people_sign(self, world, renewal):
        factories.holder("ceo-applications", who=world.ceo)
        loans.sign_loan(loan=renewal, by=world.ceo, role=world.role("ceo"))

        with pytest.raises(NotAllowed):
            loans.sign_loan(loan=renewal, by=world.ceo, role=world.role("ceo-applications"))
        assert list(queries.loans_waiting_for(world.ceo)) == []

    @pytest.mark.parametrize("project", ["project", "applied_project"])
    def test_neither_lead_signs_in_another_role(self, world, renewal, project):
        getattr(world, project).__class__.objects.filter(pk=getattr(world, project).pk).update(lead=world.ceo)

        with pytest.raises(NotAllowed):
            loans.sign_loan(loan=fresh(renewal), by=world.ceo)
        assert list(queries.loans_waiting_for(world.ceo)) == []

    def test_nor_does_one_who_has_signed_agree_as_the_lead(self, world, renewal):
        press(world, renewal, "ceo")
        type(world.project).objects.filter(pk=world.project.pk).update(lead=world.ceo)

        with pytest.raises(NotAllowed):
            agree(world, renewal, by=world.ceo)

    @pytest.mark.parametrize("login", ["lead", "applied-lead", "chief-scientist", "ops", "stranger", "admin"])
    def test_nobody_else_signs(self, world, renewal, login):
        with pytest.raises(NotAllowed):
            loans.sign_loan(loan=renewal, by=world.everyone[login])

    def test_a_signature_or_an_answer_repeated_changes_nothing(self, world, renewal):
        for who in ("ceo", "ceo", "lead", "lead"):
            press(world, renewal, who)

        assert verbs(renewal) == ["loan.proposed", "loan.signed", "loan.agreed"]
        assert (LoanSignature.objects.count(), fresh(renewal).state) == (1, "proposed")

    def test_until_it_holds_the_lead_may_still_decline_and_a_signer_take_it_off(self, world, first):
        one, other = propose(world, after=12), propose(world, after=12)
        press(world, one, "lead")
        with pytest.raises(BadTerms):
            loans.answer_loan(loan=one, by=world.lead, agrees=False)
        loans.answer_loan(loan=one, by=world.lead, agrees=False, reason="We need them.")
        press(world, other, "ceo")
        loans.withdraw_loan(loan=other, by=world.ceo_apps)

        assert (fresh(one).state, fresh(other).state) == ("declined", "withdrawn")
        with pytest.raises(WrongState):
            press(world, one, "ceo")

    def test_the_lender_must_still_have_them_at_the_last_signature(self, world, renewal, noon):
        press(world, renewal, "lead")
        press(world, renewal, "ceo")
        Grant.objects.filter(project=world.project).update(gpus=7)

        with pytest.raises(OverCapacity):
            press(world, renewal, "ceo-applications")
        assert (fresh(renewal).state, LoanSignature.objects.count()) == ("proposed", 1)

    def test_after_its_time_nobody_makes_it_hold(self, world, renewal, noon, time_machine):
        press(world, renewal, "lead")
        press(world, renewal, "ceo")
        time_machine.move_to(noon + 22 * DAY, tick=False)

        with pytest.raises(WrongState):
            press(world, renewal, "ceo-applications")

    def test_without_somebody_for_each_role_it_is_not_proposed(self, world, first):
        RoleHolder.objects.filter(person=world.ceo_apps).delete()

        with pytest.raises(NobodyToSign):
            propose(world, after=12)


@pytest.mark.django_db
class TestWhatRenews:
    """It goes by what is held between the two, whatever the proposal calls itself."""

    @pytest.mark.parametrize(("after", "renews"), [(0, True), (5, True), (39, True), (40, False), (60, False)])
    def test_one_that_overlaps_or_follows_within_thirty_days(self, world, first, after, renews):
        assert bool(propose(world, after=after).renews) is renews

    def test_more_from_the_first_day_of_a_held_one_renews_it_for_all_that_it_adds(self, world, first):
        assert propose(world, days=60).renews == first

    def test_two_proposed_for_one_day_are_first_loans_until_one_holds(self, world, lent):
        one, other = propose(world), propose(world)
        agree(world, one)

        with pytest.raises(WrongState):
            agree(world, other)

    def test_hours_of_the_day_make_it_no_other_loan(self, world, first):
        assert propose(world, daily_from=time(22), daily_until=time(7)).renews == first

    def test_one_returned_before_it_began_was_never_held(self, world, lent):
        loans.return_loan(loan=agree(world, propose(world, after=5)), by=world.applied_lead)

        assert propose(world).renews is None

    def test_one_given_back_early_was_held(self, world, first, noon, time_machine):
        time_machine.move_to(noon + DAY, tick=False)
        loans.return_loan(loan=first, by=world.applied_lead)

        assert propose(world).renews == first


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    @pytest.mark.parametrize("pair", [("lead", "ceo"), ("ceo", "ceo-applications")])
    def test_the_last_two_at_once_make_one_loan(self, world, monkeypatch, pair):
        factories.grant(world.project, gpus=40, ends_at=timezone.now() + 90 * DAY)
        agree(world, propose(world))
        loan = propose(world, after=12)
        [before] = {"lead", "ceo", "ceo-applications"} - set(pair)
        press(world, loan, before)
        monkeypatch.setattr(loans, "_settle", Window().before(loans._settle))

        outcomes = at_once(*(lambda who=who: press(world, loan, who) for who in pair))

        assert kinds(outcomes) == ["Loan", "Loan"]
        assert (fresh(loan).state, Grant.objects.filter(loan=loan).count()) == ("agreed", 1)
        complete = Event.objects.filter(subject_id=str(loan.pk), facts__complete=True)
        assert complete.count() == 1

    def test_two_holders_of_one_role_at_once_leave_one_signature(self, world, monkeypatch):
        factories.grant(world.project, gpus=40, ends_at=timezone.now() + 90 * DAY)
        agree(world, propose(world))
        loan = propose(world, after=12)
        factories.holder("ceo", "second-ceo")
        people = [world.ceo, type(world.ceo).objects.get(username="second-ceo")]
        monkeypatch.setattr(loans.turns, "require_mandate", Window().after(loans.turns.require_mandate))

        outcomes = at_once(*(lambda who=who: loans.sign_loan(loan=fresh(loan), by=who) for who in people))

        assert kinds(outcomes) == ["Loan", "Stale"]
        assert LoanSignature.objects.count() == 1

    def test_declined_while_the_last_one_signs_is_one_outcome(self, world, monkeypatch):
        """The row's lock holds the second one off; without it the compare-and-set of the state would."""
        factories.grant(world.project, gpus=40, ends_at=timezone.now() + 90 * DAY)
        agree(world, propose(world))
        loan = propose(world, after=12)
        press(world, loan, "lead")
        press(world, loan, "ceo")
        rows, window = (fresh(loan), fresh(loan)), Window()
        monkeypatch.setattr(loans.turns, "require_waits", window.after(loans.turns.require_waits))

        outcomes = at_once(
            lambda: loans.answer_loan(loan=rows[0], by=world.lead, agrees=False, reason="We need them."),
            lambda: loans.sign_loan(loan=rows[1], by=world.ceo_apps),
        )

        assert (kinds(outcomes), window.met) == (["Loan", "Stale"], False)
        row = fresh(loan)
        assert (row.state, row.grant is None) in [("declined", True), ("agreed", False)]
        assert Loan.objects.filter(state="agreed").count() == Grant.objects.filter(loan__state="agreed").count()

    def test_nobody_agrees_to_what_is_withdrawn_at_that_moment(self, world, monkeypatch):
        factories.grant(world.project, gpus=40, ends_at=timezone.now() + 90 * DAY)
        agree(world, propose(world))
        loan = propose(world, after=12)
        rows, window = (fresh(loan), fresh(loan)), Window()
        monkeypatch.setattr(loans.turns, "require_waits", window.after(loans.turns.require_waits))

        outcomes = at_once(
            lambda: loans.withdraw_loan(loan=rows[0], by=world.applied_lead),
            lambda: loans.answer_loan(loan=rows[1], by=world.lead, agrees=True),
        )

        assert (window.met, fresh(loan).state) == (False, "withdrawn")
        assert (kinds(outcomes), verbs(loan)) in (
            (["Loan", "Loan"], ["loan.proposed", "loan.agreed", "loan.withdrawn"]),
            (["Loan", "Stale"], ["loan.proposed", "loan.withdrawn"]),
        )


@pytest.mark.django_db
def test_a_conflict_declared_while_a_signature_waits_for_its_turn_bars_it(world, renewal, monkeypatch):
    lock_row = turns.lock_row

    def lock_after_a_conflict(row):
        recusals.declare_conflict(person=world.ceo, project=world.project, by=world.ceo, reason="My brother leads it.")
        lock_row(row)

    monkeypatch.setattr(turns, "lock_row", lock_after_a_conflict)

    with pytest.raises(NotAllowed):
        press(world, renewal, "ceo")
