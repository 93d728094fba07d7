"""An order of signers: whose turn it is, who is told when, and that nobody signs before the ones that come first."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import queries, recusals
from allocations.errors import WrongState
from allocations.models import PolicyRole, SignOff
from tests.allocations.acts import approve, decline, submit, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


@pytest.fixture
def ordered(world):
    """The research head signs before the chief scientist."""
    PolicyRole.objects.filter(role=world.role("chief-scientist")).update(position=2)
    PolicyRole.objects.filter(role=world.role("research-head")).update(position=1)
    return submit(world)


def test_it_is_the_first_ones_turn_alone(world, ordered):
    assert list(queries.queue_of(world.head)) == [ordered]
    assert list(queries.queue_of(world.chief)) == queries.mandates_to_sign(ordered, world.chief) == []
    assert told("pitch.submitted") == ["research-head"]


@pytest.mark.parametrize("act", [approve, decline])
def test_who_comes_later_does_not_sign_before(world, ordered, act):
    with pytest.raises(WrongState) as refused:
        act(world, ordered, world.chief, "chief-scientist")

    assert refused.value.message == ("Research head signs before Chief scientist. You are told when it is your turn.")
    assert SignOff.objects.count() == 0


def test_the_next_one_is_told_when_its_turn_has_come(world, ordered):
    approve(world, ordered, world.head, "research-head")

    assert list(queries.queue_of(world.chief)) == [ordered]
    assert told("sign_off.given") == ["chief-scientist"]
    approve(world, ordered, world.chief, "chief-scientist")
    assert ordered.state == "granted"


def test_other_terms_of_a_later_one_go_back_to_the_first(world, ordered):
    approve(world, ordered, world.head, "research-head")

    approve(world, ordered, world.chief, "chief-scientist", gpus=16)

    assert list(queries.queue_of(world.head)) == [ordered]
    approve(world, ordered, world.head, "research-head")
    assert (ordered.state, ordered.offered_gpus) == ("granted", 16)


def test_what_comes_later_is_seen_with_what_is_ahead_and_told_to_nobody(world, ordered):
    coming = [(pitch.title, pitch.ahead) for pitch in queries.coming_to(world.chief)]

    assert coming == [(ordered.title, ["Research head"])]
    assert list(queries.coming_to(world.head)) == []
    assert "chief-scientist" not in told("pitch.submitted")
    approve(world, ordered, world.head, "research-head")
    assert list(queries.coming_to(world.chief)) == []


def test_nothing_comes_to_whom_it_is_barred_from(world, ordered):
    recusals.declare_conflict(person=world.chief, project=world.project, by=world.chief, reason="My sister.")

    assert list(queries.coming_to(world.chief)) == []


def test_what_is_overdue_stands_first_and_says_since_when(world):
    first, second = submit(world, gpus=8), submit(world, gpus=8)
    since = timezone.now() - timedelta(days=1)
    second.needed_roles.filter(role=world.role("chief-scientist")).update(due_at=since)

    assert [(row, row.overdue_since) for row in queries.queue_of(world.chief)] == [(second, since), (first, None)]
    assert [(row, row.overdue_since) for row in queries.queue_of(world.head)] == [(first, None), (second, None)]
