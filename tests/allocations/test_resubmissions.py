"""Trying again: a draft follows a declined or withdrawn pitch, once; the earlier decision stays as it was."""

from datetime import date, timedelta

import pytest

from allocations import asks, pitches
from allocations.errors import NotAllowed, WrongState
from allocations.models import Pitch
from inventory.models import Event
from tests import factories
from tests.allocations import acts


@pytest.fixture
def declined(world, noon) -> Pitch:
    pitch = acts.submit(world, gpus=16, check_on=noon.date() + timedelta(days=14))
    acts.decline(world, pitch, world.chief, "chief-scientist", reason="No baseline.")
    return pitch


def again(pitch, by) -> Pitch:
    return pitches.resubmit_pitch(pitch=pitch, by=by)


def test_a_new_draft_says_the_same_and_follows_the_earlier_pitch_which_stays(world, declined):
    draft = again(declined, world.pitcher)

    declined.refresh_from_db()
    assert (draft.state, draft.resubmits, draft.round, draft.offered_gpus) == ("draft", declined, 1, 16)
    assert (asks.changes_between(declined, draft), draft.public_id == declined.public_id) == ({}, False)
    assert (declined.state, declined.sign_offs.get().reason) == ("declined", "No baseline.")
    begun = Event.objects.get(subject_kind="pitch", subject_id=str(draft.pk))
    assert (begun.verb, begun.facts) == ("pitch.drafted", {"changed": [], "follows": str(declined.public_id)})


def test_pressed_again_it_is_the_same_draft_also_once_it_waits(world, declined):
    draft = again(declined, world.pitcher)
    twice = again(declined, world.pitcher)
    pitches.submit_pitch(pitch=draft, by=world.pitcher)

    assert {twice.pk, again(declined, world.pitcher).pk} == {draft.pk}


def test_days_that_have_passed_move_on_together(world, declined, time_machine, noon):
    time_machine.move_to(noon + timedelta(days=3), tick=False)

    draft = again(declined, world.pitcher)

    assert (draft.start_on, draft.check_on) == (date(2027, 3, 4), date(2027, 3, 18))


def test_after_the_next_decline_one_may_try_once_more(world, declined):
    second = pitches.submit_pitch(pitch=again(declined, world.pitcher), by=world.pitcher)
    acts.decline(world, second, world.chief, "chief-scientist")

    third = again(declined, world.pitcher)

    assert (third.state, third.pk == second.pk) == ("draft", False)


def test_a_withdrawn_pitch_may_come_back(world, noon):
    pitch = pitches.withdraw_pitch(pitch=acts.submit(world, gpus=16), by=world.pitcher)

    assert again(pitch, world.pitcher).resubmits == pitch


@pytest.mark.parametrize("state", ["draft", "submitted", "granted"])
def test_what_is_open_or_granted_is_not_tried_again(world, state):
    decided = {"decided_at": "2027-01-01T00:00Z", "decided_by": world.chief} if state == "granted" else {}
    pitch = factories.pitch(world.project, world.pitcher, state=state, **decided)

    with pytest.raises(WrongState):
        again(pitch, world.pitcher)

    assert Pitch.objects.count() == 1


def test_a_team_mate_may_try_again_but_not_beside_one_that_waits(world, declined):
    theirs = again(declined, world.team_mate)
    own = again(declined, world.pitcher)
    pitches.submit_pitch(pitch=own, by=world.pitcher)

    with pytest.raises(WrongState):
        again(declined, world.lead)

    assert (theirs.pitcher, own.pitcher, theirs.pk == own.pk) == (world.team_mate, world.pitcher, False)


def test_who_may_not_pitch_for_the_project_or_does_not_see_it_may_not_try_again(world, declined):
    refused = set()
    for name, person in world.everyone.items():
        try:
            again(declined, person)
        except NotAllowed:
            refused.add(name)

    assert set(world.everyone) - refused == {"ops", "lead", "pitcher", "team-mate"}
