"""Terms other than asked for: signed by all, promised at once or offered to the pitcher, who accepts or declines."""

from datetime import date, timedelta

import pytest

from allocations import grants, pitches, queries
from allocations.errors import BadTerms, NotAllowed, OverShare, Stale, WrongState
from allocations.models import Grant, PitchAlternative, SignOff
from inventory.models import Event
from tests import factories
from tests.allocations.acts import approve, submit, told, verbs
from tests.races import Window, at_once, kinds

pytestmark = pytest.mark.django_db


def both(world, pitch, **terms):
    """The chief puts the terms on the table, the head signs them."""
    approve(world, pitch, world.chief, "chief-scientist", **terms)
    approve(world, pitch, world.head, "research-head")
    return pitch


def offered(world, **terms):
    return both(world, submit(world), **(terms or {"gpus": 4}))


def accept(pitch, who):
    return pitches.accept_offer(pitch=pitch, by=who, round=pitch.round)


@pytest.mark.usefixtures("noon")
class TestTermsOnTheTable:
    def test_dates_that_an_approver_typed_are_those_of_the_grant(self, world):
        """coldfront/coldfront#470: dates that the approver typed are kept."""
        pitch = submit(world, start_until=date(2027, 3, 20))

        both(world, pitch, start_on=date(2027, 3, 15))

        grant = Grant.objects.get()
        assert (pitch.state, pitch.round) == ("granted", 2)
        assert grant.starts_at.date() == date(2027, 3, 15)
        assert grant.ends_at - grant.starts_at == timedelta(days=14)

    def test_part_of_an_ask_is_approved_within_its_range_at_once(self, world):
        """coldfront/coldfront#862: part of an ask can be approved."""
        pitch = both(world, submit(world), gpus=8)

        assert (pitch.state, Grant.objects.get().gpus) == ("granted", 8)

    def test_another_model_that_the_pitcher_named_is_granted_at_once(self, world):
        a100 = factories.model("A100")
        factories.fleet(a100, gpus=100)
        pitch = submit(world)
        PitchAlternative.objects.create(pitch=pitch, model=a100, gpus=48)

        both(world, pitch, model=a100, gpus=48)

        grant = Grant.objects.get()
        assert (pitch.state, grant.model, grant.gpus) == ("granted", a100, 48)

    @pytest.mark.parametrize(
        "terms",
        [{"gpus": 7}, {"days": 13}, {"days": 15}, {"start_on": date(2027, 3, 2)}, {"model": "A100", "gpus": 32}],
        ids=["below the minimum", "shorter", "longer", "after the window", "a model nobody named"],
    )
    def test_what_the_pitcher_has_not_accepted_beforehand_is_an_offer(self, world, terms):
        factories.fleet(factories.model("A100"), gpus=100)
        terms = terms | ({"model": factories.model("A100")} if "model" in terms else {})

        pitch = both(world, submit(world), **terms)

        assert (pitch.state, Grant.objects.count(), pitch.decided_by) == ("offered", 0, None)
        assert told("pitch.offered") == ["lead", "pitcher"]
        assert told("pitch.granted") == []

    def test_a_named_model_with_fewer_than_named_is_an_offer(self, world):
        a100 = factories.model("A100")
        factories.fleet(a100, gpus=100)
        pitch = submit(world)
        PitchAlternative.objects.create(pitch=pitch, model=a100, gpus=48)

        both(world, pitch, model=a100, gpus=47)

        assert pitch.state == "offered"

    @pytest.mark.parametrize(
        ("terms", "field"),
        [
            ({"gpus": 33}, "gpus"),
            ({"model": "A100", "gpus": 33}, "gpus"),
            ({"model": "B200", "gpus": 9}, "gpus"),
            ({"start_on": date(2027, 2, 28)}, "start_on"),
            ({"start_on": date(2030, 1, 1)}, "start_on"),
            ({"days": 731}, "days"),
            ({"days": 0}, "days"),
        ],
    )
    def test_terms_that_nobody_asked_for_are_refused(self, world, terms, field):
        pitch = submit(world)
        PitchAlternative.objects.create(pitch=pitch, model=factories.model("B200"), gpus=8)
        terms = terms | ({"model": factories.model(terms["model"])} if "model" in terms else {})

        with pytest.raises(BadTerms) as refused:
            approve(world, pitch, world.chief, "chief-scientist", **terms)

        assert refused.value.facts["field"] == field
        assert (SignOff.objects.count(), pitch.round) == (0, 1)

    def test_terms_are_raised_again_up_to_what_was_asked(self, world):
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist", gpus=10)

        approve(world, pitch, world.head, "research-head", gpus=20)
        approve(world, pitch, world.chief, "chief-scientist")

        assert (pitch.state, pitch.round, Grant.objects.get().gpus) == ("granted", 3, 20)

    def test_where_two_roles_approve_different_dates_nothing_is_granted(self, world):
        pitch = submit(world, start_until=date(2027, 3, 20))
        approve(world, pitch, world.chief, "chief-scientist", start_on=date(2027, 3, 10))
        approve(world, pitch, world.head, "research-head", start_on=date(2027, 3, 12))

        assert (pitch.state, Grant.objects.count(), pitch.round) == ("submitted", 0, 3)

    def test_a_first_day_that_has_passed_is_today_in_all_of_this(self, world, time_machine, noon):
        pitch = submit(world)
        time_machine.move_to(noon + timedelta(days=3), tick=False)

        approve(world, pitch, world.chief, "chief-scientist", start_on=date(2027, 3, 4))
        approve(world, pitch, world.head, "research-head")

        assert (pitch.state, pitch.round) == ("granted", 1)
        assert Grant.objects.get().ends_at == noon + timedelta(days=17)


@pytest.mark.usefixtures("noon")
class TestTheAnswer:
    def test_an_accepted_offer_is_promised_as_offered(self, world):
        pitch = offered(world, gpus=4, days=20)

        accept(pitch, world.pitcher)

        grant = Grant.objects.get()
        assert (pitch.state, pitch.decided_by, grant.gpus, grant.issued_by) == ("granted", world.head, 4, world.head)
        assert (grant.ends_at - grant.starts_at).days == 20
        assert told("pitch.granted") == ["chief-scientist", "lead", "research-head"]
        assert verbs(pitch)[-2:] == ["pitch.offered", "pitch.granted"]

    def test_the_lead_of_the_project_answers_too(self, world):
        assert accept(offered(world), world.lead).gpus == 4

    @pytest.mark.parametrize("login", ["team-mate", "chief-scientist", "ops", "admin", "ceo"])
    def test_nobody_else_answers(self, world, login):
        pitch = offered(world)

        with pytest.raises(NotAllowed):
            accept(pitch, world.everyone[login])
        with pytest.raises(NotAllowed):
            pitches.decline_offer(pitch=pitch, by=world.everyone[login], round=pitch.round, reason="No.")

        assert (pitch.state, Grant.objects.count()) == ("offered", 0)

    def test_a_lead_who_signed_the_offer_does_not_accept_it_for_the_pitcher(self, world):
        factories.holder("chief-scientist", who=world.lead)
        pitch = submit(world)
        approve(world, pitch, world.lead, "chief-scientist", gpus=4)
        approve(world, pitch, world.head, "research-head")

        with pytest.raises(NotAllowed) as refused:
            accept(pitch, world.lead)

        assert refused.value.message == "You signed this offer yourself: pitcher answers it."

    def test_a_declined_offer_puts_the_ask_on_the_table_again(self, world):
        pitch = offered(world, gpus=4, days=20)

        pitches.decline_offer(pitch=pitch, by=world.pitcher, round=pitch.round, reason="Four are no use.")

        assert (pitch.state, pitch.round, pitch.terms) == ("submitted", 3, pitch.asked)
        assert (pitch.offered_at, pitch.answer_due_at) == (None, None)
        assert told("pitch.offer_declined") == ["chief-scientist", "research-head"]
        assert list(queries.queue_of(world.chief)) == list(queries.queue_of(world.head)) == [pitch]
        assert Event.objects.get(verb="pitch.offer_declined").reason == "Four are no use."

    def test_a_decline_needs_its_reason(self, world):
        pitch = offered(world)

        with pytest.raises(BadTerms):
            pitches.decline_offer(pitch=pitch, by=world.pitcher, round=pitch.round, reason=" ")

        assert pitch.state == "offered"

    def test_capacity_is_checked_again_when_it_is_accepted(self, world):
        pitch = offered(world)
        factories.grant(world.project, gpus=58)

        with pytest.raises(OverShare):
            accept(pitch, world.pitcher)

        pitch.refresh_from_db()
        assert (pitch.state, Grant.objects.filter(pitch=pitch).count()) == ("offered", 0)

    def test_what_does_not_fit_is_not_offered(self, world):
        pitch = submit(world)
        factories.grant(world.project, gpus=58)
        approve(world, pitch, world.chief, "chief-scientist", gpus=4)

        with pytest.raises(OverShare):
            approve(world, pitch, world.head, "research-head")

        assert pitch.state == "submitted"

    def test_an_answer_to_other_terms_than_were_seen_is_refused(self, world):
        pitch = offered(world)

        with pytest.raises(Stale):
            pitches.accept_offer(pitch=pitch, by=world.pitcher, round=1)

        assert Grant.objects.count() == 0

    def test_it_is_withdrawn_while_it_waits_for_the_answer(self, world):
        """coldfront/coldfront#788: a requester can withdraw."""
        pitch = offered(world)

        pitches.withdraw_pitch(pitch=pitch, by=world.pitcher)

        with pytest.raises(WrongState):
            accept(pitch, world.pitcher)
        assert pitch.state == "withdrawn"

    def test_the_answer_is_due_in_working_days_and_decides_nothing_itself(self, world, noon, time_machine, settings):
        """gravitational/teleport#14040: a request never expires silently; noon is a Monday."""
        settings.ANSWER_WORKING_DAYS = 5
        pitch = offered(world)

        assert pitch.answer_due_at == noon + timedelta(days=7)
        time_machine.move_to(noon + timedelta(days=60), tick=False)
        assert accept(pitch, world.pitcher).gpus == 4


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_accepted_by_pitcher_and_lead_at_once_is_one_promise(self, world, monkeypatch):
        pitch = offered(world)
        rows = [type(pitch).objects.get(pk=pitch.pk) for _each in range(2)]
        monkeypatch.setattr(grants, "_require_all_signed", Window().after(grants._require_all_signed))

        outcomes = at_once(lambda: accept(rows[0], world.pitcher), lambda: accept(rows[1], world.lead))

        assert kinds(outcomes) == ["Grant", "Stale"]
        assert (Grant.objects.count(), Event.objects.filter(verb="pitch.granted").count()) == (1, 1)

    def test_accepted_and_withdrawn_at_once_has_one_outcome(self, world, monkeypatch):
        pitch = offered(world)
        rows = [type(pitch).objects.get(pk=pitch.pk) for _each in range(2)]
        monkeypatch.setattr(grants, "_require_all_signed", Window().after(grants._require_all_signed))

        outcomes = at_once(
            lambda: accept(rows[0], world.pitcher), lambda: pitches.withdraw_pitch(pitch=rows[1], by=world.lead)
        )

        pitch.refresh_from_db()
        assert kinds(outcomes) == (["Grant", "Stale"] if pitch.state == "granted" else ["Pitch", "Stale"])
        assert Grant.objects.count() == (pitch.state == "granted")

    def test_two_offers_that_fit_alone_but_not_together_are_one_promise(self, world, monkeypatch):
        """calcom/cal.diy#29958: accepted at once, one of them wins."""
        rows = [both(world, submit(world, gpus=40, min_gpus=40), gpus=35) for _each in range(2)]
        monkeypatch.setattr(grants, "require_room", Window().after(grants.require_room))

        outcomes = at_once(*(lambda row=row: accept(row, world.pitcher) for row in rows))

        assert kinds(outcomes) == ["Grant", "OverShare"]
        assert Grant.objects.count() == 1
