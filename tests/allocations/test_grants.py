"""A grant ends early by a person, and what it promised can be promised again at once."""

from datetime import timedelta

import pytest

from allocations import grants
from allocations.errors import BadTerms, NotAllowed, Stale, WrongState
from allocations.models import Grant, OutboxMessage, Pitch
from inventory.models import Event
from tests import factories
from tests.allocations.acts import approve, submit, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


def test_the_lead_gives_it_up(world, noon):
    """TensorHive#324: what it held is free for planning at once."""
    grant = factories.grant(world.project, gpus=60)

    grants.end_grant(grant=grant, by=world.lead, reason="Result is in.")

    stored = Grant.objects.get()
    assert (stored.ends_at, stored.ended_at, stored.ended_by) == (noon, noon, world.lead)
    event = Event.objects.get(verb="grant.ended")
    assert (event.reason, event.facts["after"], told("grant.ended")) == (
        "Result is in.",
        "2027-03-01T12:00:00Z",
        ["lead"],
    )
    submit(world, gpus=60)  # all of the share is free again


@pytest.mark.parametrize(
    "login",
    ["chief-scientist", "research-head", "ceo", "ops", "auditor", "admin", "pitcher", "stranger", "applied-lead"],
)
def test_nobody_else_ends_it_alone(world, login):
    """Deciders ask for the end: others sign it, and the lead is heard."""
    grant = factories.grant(world.project)

    with pytest.raises(NotAllowed):
        grants.end_grant(grant=grant, by=world.everyone[login], reason="Mine now.")

    assert Grant.objects.get().ended_at is None


def test_one_that_has_not_begun_never_begins(world, noon):
    grant = factories.grant(world.project, gpus=60, starts_at=noon + timedelta(days=3))

    grants.end_grant(grant=grant, by=world.lead, reason="Cancelled.")

    assert (grant.starts_at, grant.ends_at, grant.ended_at) == (
        noon + timedelta(days=3),
        noon + timedelta(days=3),
        noon,
    )
    submit(world, gpus=60)


def test_it_needs_a_reason_and_ends_once(world, noon):
    grant = factories.grant(world.project)
    seen = Grant.objects.get()
    with pytest.raises(BadTerms):
        grants.end_grant(grant=grant, by=world.lead, reason="")
    grants.end_grant(grant=grant, by=world.lead, reason="Done.")

    with pytest.raises(WrongState):
        grants.end_grant(grant=grant, by=world.lead, reason="Done.")
    with pytest.raises(Stale):
        grants.end_grant(grant=seen, by=world.lead, reason="Done.")

    assert (told("grant.ended"), OutboxMessage.objects.count()) == (["lead"], 1)


def test_who_saw_it_running_does_not_end_it_again_by_a_clock_that_is_behind(world, noon, time_machine):
    grant = factories.grant(world.project, starts_at=noon - timedelta(days=1))
    seen = Grant.objects.get()
    grants.end_grant(grant=grant, by=world.lead, reason="Done.")
    time_machine.move_to(noon - timedelta(seconds=1), tick=False)

    with pytest.raises(Stale):
        grants.end_grant(grant=seen, by=world.lead, reason="Done.")

    assert (Grant.objects.get().ends_at, told("grant.ended")) == (noon, ["lead"])


def test_one_that_is_over_does_not_end_early(world, noon):
    grant = factories.grant(world.project, starts_at=noon - timedelta(days=9), ends_at=noon - timedelta(days=2))

    with pytest.raises(WrongState):
        grants.end_grant(grant=grant, by=world.lead, reason="Done.")

    assert Grant.objects.get().ended_at is None


class TestIssuing:
    def test_no_promise_is_made_past_a_role_that_has_not_signed(self, world):
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist")

        with pytest.raises(NotAllowed) as refused:
            grants.issue_grant(pitch=pitch, by=world.chief)

        assert refused.value.message == "These roles have not signed for 32 GPUs: Research head."
        assert Grant.objects.count() == 0

    def test_no_promise_is_made_of_another_number_than_was_signed(self, world):
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist")
        factories.sign_off(pitch, world.head, "research-head", gpus=16)

        with pytest.raises(NotAllowed):
            grants.issue_grant(pitch=pitch, by=world.chief)

        assert Grant.objects.count() == 0

    def test_no_second_promise_is_made_for_a_granted_pitch(self, world):
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist")
        approve(world, pitch, world.head, "research-head")

        with pytest.raises(WrongState):
            grants.issue_grant(pitch=Pitch.objects.get(), by=world.head)

        assert Grant.objects.count() == 1
