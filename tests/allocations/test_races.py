"""Decisions made by several people at once: one outcome, one event, one notice; nothing promised twice."""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from allocations import grants, pitches, splits, turns
from allocations.errors import Stale
from allocations.locks import lock_row, lock_shares
from allocations.models import Grant, OutboxMessage, Pitch, SignOff
from allocations.pitches import common, signing, writing
from inventory.models import Event
from tests import factories
from tests.allocations.acts import approve, decline, submit, told
from tests.races import Window, at_once, kinds

pytestmark = pytest.mark.django_db(transaction=True)


def fresh(row):
    """The row as another person's request reads it."""
    return type(row).objects.get(pk=row.pk)


def half_signed(world, **terms):
    pitch = submit(world, **terms)
    approve(world, pitch, world.chief, "chief-scientist")
    return pitch


def approving(world, pitch, who, role, **terms):
    row = fresh(pitch)
    return lambda: approve(world, row, who, role, **terms)


def declining(world, pitch, who, role):
    row = fresh(pitch)
    return lambda: decline(world, row, who, role)


class TestOnePitch:
    def test_six_approvers_at_once_make_one_grant(self, world, monkeypatch):
        chiefs = [world.chief, *(factories.holder("chief-scientist", f"chief-{n}") for n in range(2))]
        heads = [world.head, *(factories.holder("research-head", f"head-{n}") for n in range(2))]
        pitch = submit(world)
        monkeypatch.setattr(signing, "lock_row", Window(6).before(lock_row))

        outcomes = at_once(
            *(approving(world, pitch, chief, "chief-scientist") for chief in chiefs),
            *(approving(world, pitch, head, "research-head") for head in heads),
        )

        assert kinds(outcomes) == ["SignOff"] * 2 + ["Stale"] * 4
        assert (fresh(pitch).state, Grant.objects.count(), SignOff.objects.count()) == ("granted", 1, 2)
        assert Event.objects.filter(verb="grant.issued").count() == 1
        assert told("pitch.granted") == ["pitcher"]

    def test_the_last_two_signers_at_once_do_not_both_believe_that_the_other_is_missing(self, world, monkeypatch):
        pitch = submit(world)
        monkeypatch.setattr(writing, "write_sign_off", Window().after(writing.write_sign_off))

        outcomes = at_once(
            approving(world, pitch, world.chief, "chief-scientist"),
            approving(world, pitch, world.head, "research-head"),
        )

        assert kinds(outcomes) == ["SignOff", "SignOff"]
        assert (fresh(pitch).state, Grant.objects.count(), told("pitch.granted")) == ("granted", 1, ["pitcher"])

    def test_approved_and_declined_at_once_has_one_outcome(self, world, monkeypatch):
        """quanwangniuniu/marketing-simplified PR#755: one outcome, one entry, one notice; the loser is told."""
        pitch = half_signed(world)
        second = factories.holder("research-head", "second-head")
        monkeypatch.setattr(turns, "require_turn", Window().after(turns.require_turn))

        outcomes = at_once(
            approving(world, pitch, world.head, "research-head"), declining(world, pitch, second, "research-head")
        )

        state = fresh(pitch).state
        assert kinds(outcomes) == ["SignOff", "Stale"]
        assert Grant.objects.count() == (state == "granted")
        assert list(
            Event.objects.filter(verb__in=["pitch.granted", "pitch.declined"]).values_list("verb", flat=True)
        ) == [f"pitch.{state}"]
        assert OutboxMessage.objects.filter(person=world.pitcher).count() == 1

    def test_granted_and_withdrawn_at_once_has_one_outcome(self, world, monkeypatch):
        pitch = half_signed(world)
        mine = fresh(pitch)
        window = Window()
        monkeypatch.setattr(signing, "require_state", window.after(common.require_state))
        monkeypatch.setattr(common, "require_state", window.after(common.require_state))

        outcomes = at_once(
            approving(world, pitch, world.head, "research-head"),
            lambda: pitches.withdraw_pitch(pitch=mine, by=world.pitcher),
        )

        state = fresh(pitch).state
        assert kinds(outcomes) == (["SignOff", "Stale"] if state == "granted" else ["Pitch", "Stale"])
        assert Grant.objects.count() == (state == "granted")

    def test_fewer_gpus_and_as_asked_at_once_are_not_one_round(self, world, monkeypatch):
        """Who approves as asked looks first and writes last: in between the other has put fewer on the table."""
        pitch = submit(world)
        looked, lowered = Window(), Window()
        require_turn, sign = turns.require_turn, writing.write_sign_off

        def held_turn(row, by, *rest):
            mandate = require_turn(row, by, *rest)
            looked.enter()
            return mandate

        def held_sign(act):
            if act.by == world.chief:
                signed = sign(act)
                lowered.enter()
                return signed
            lowered.enter()
            return sign(act)

        monkeypatch.setattr(turns, "require_turn", held_turn)
        monkeypatch.setattr(writing, "write_sign_off", held_sign)

        outcomes = at_once(
            approving(world, pitch, world.chief, "chief-scientist", gpus=16),
            approving(world, pitch, world.head, "research-head"),
        )

        row = fresh(pitch)
        assert (row.state, row.round, row.offered_gpus, Grant.objects.count()) == ("submitted", 2, 16, 0)
        assert [each.person for each in SignOff.objects.filter(round=2)] == [world.chief]
        assert (looked.met, lowered.met) == (False, False)  # one waits for the other before it looks
        assert kinds(outcomes) in (["SignOff", "SignOff"], ["SignOff", "Stale"])  # as asked first, or too late

    def test_the_same_signature_pressed_twice_at_once_is_one(self, world, monkeypatch):
        pitch = half_signed(world)
        monkeypatch.setattr(signing, "_same_answer", Window().after(signing._same_answer))

        outcomes = at_once(*[approving(world, pitch, world.head, "research-head")] * 2)

        assert kinds(outcomes) == ["SignOff", "SignOff"]
        assert (outcomes[0], Grant.objects.count(), told("pitch.granted")) == (outcomes[1], 1, ["pitcher"])


class TestOneShare:
    @pytest.fixture(autouse=True)
    def _shares(self, world):
        """The shares are there: whoever makes a missing one waits for the other by that alone."""
        factories.division("robotics")
        with transaction.atomic():
            lock_shares(factories.model())

    def test_two_pitches_that_fit_alone_but_not_together(self, world, monkeypatch):
        """calcom/cal.diy#29958, #10789: approved at once, one wins."""
        one, other = half_signed(world, gpus=40), half_signed(world, gpus=40)
        monkeypatch.setattr(grants, "require_room", Window().after(grants.require_room))

        outcomes = at_once(*(approving(world, pitch, world.head, "research-head") for pitch in (one, other)))

        assert kinds(outcomes) == ["OverShare", "SignOff"]
        assert sorted([fresh(one).state, fresh(other).state]) == ["granted", "submitted"]
        assert Grant.objects.count() == 1

    def test_two_divisions_do_not_promise_the_same_healthy_gpus(self, world, monkeypatch):
        """Research is over its share, so that the shares of the other two are more than what is left of the fleet."""
        third = factories.project("arm", division=factories.division("robotics"))
        factories.split({"": {"research": 40, "applied": 30, "robotics": 30}}, starts_at=timezone.now())
        factories.grant(
            world.project, gpus=70, starts_at=factories.LONG_AGO, ends_at=timezone.now() + timedelta(days=90)
        )
        one = factories.submitted(world.applied_project, gpus=30, roles=["ceo-applications"])
        other = factories.submitted(third, gpus=30, roles=["ceo"])
        monkeypatch.setattr(grants, "require_room", Window().after(grants.require_room))

        outcomes = at_once(
            approving(world, one, world.ceo_apps, "ceo-applications"), approving(world, other, world.ceo, "ceo")
        )

        assert kinds(outcomes) == ["OverCapacity", "SignOff"]
        assert Grant.objects.count() == 2

    def test_fifty_asks_for_the_last_eight_gpus_at_once_are_one_promise_and_clear_refusals(self, world, monkeypatch):
        """calcom/cal.diy#13397."""
        factories.grant(
            world.project, gpus=52, starts_at=factories.LONG_AGO, ends_at=timezone.now() + timedelta(days=90)
        )
        asks = [half_signed(world, gpus=8, title=f"Ask {number}") for number in range(50)]
        monkeypatch.setattr(grants, "require_room", Window().after(grants.require_room))

        outcomes = at_once(*(approving(world, pitch, world.head, "research-head") for pitch in asks))

        assert kinds(outcomes) == ["OverShare"] * 49 + ["SignOff"]
        refusals = [outcome for outcome in outcomes if not isinstance(outcome, SignOff)]
        assert {(each.facts["left_gpus"], each.facts["asked_gpus"], each.facts["limit_gpus"]) for each in refusals} == {
            (0, 8, 60)
        }
        assert {each.message.partition(" from ")[0] for each in refusals} == {"Research has 0 of 60 H100 left"}
        assert (Grant.objects.count(), told("pitch.granted")) == (2, ["pitcher"])
        assert Pitch.objects.filter(state="submitted").count() == 49


class TestWaiting:
    """A lock that is not to be had in time is a refusal that says so, and nothing is written."""

    def while_somebody_holds(self, take, call):
        """What `call` comes to while another connection has taken a lock."""
        outcome = []

        def hold():
            with transaction.atomic():
                take()
                meet.enter()
                done.enter()

        meet, done = Window(), Window()

        def press():
            meet.enter()
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '100ms'")
            try:
                outcome.append(call())
            finally:
                done.enter()

        return at_once(hold, press)[1]

    def test_at_the_last_signature(self, world):
        pitch = half_signed(world)

        outcome = self.while_somebody_holds(
            lambda: lock_shares(factories.model()), approving(world, pitch, world.head, "research-head")
        )

        assert isinstance(outcome, Stale)
        assert outcome.message == "Somebody else decides on this at this moment. Nothing was changed; look again."
        assert (fresh(pitch).state, SignOff.objects.count(), Grant.objects.count()) == ("submitted", 1, 0)

    def test_at_the_last_signature_under_a_split(self, world):
        split = splits.propose_split(
            by=world.ceo, starts_at=timezone.now() + timedelta(days=1), percents={"": {"research": 1}}
        )
        splits.sign_split(split=split, by=world.ceo)
        row = fresh(split)

        outcome = self.while_somebody_holds(
            lambda: lock_shares(factories.model()), lambda: splits.sign_split(split=row, by=world.ceo_apps)
        )

        assert isinstance(outcome, Stale)
        assert (fresh(split).state, split.signatures.count()) == ("proposed", 1)

    def test_while_somebody_signs_the_same_pitch(self, world):
        pitch = half_signed(world)
        other = fresh(pitch)

        outcome = self.while_somebody_holds(
            lambda: lock_row(other), approving(world, pitch, world.head, "research-head")
        )

        assert (type(outcome), Grant.objects.count()) == (Stale, 0)
