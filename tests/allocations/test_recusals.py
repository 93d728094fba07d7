"""Stepping aside: who has a conflict signs in no way, the others hear of it, and a pitch without a signer is held."""

import pytest

from allocations import projects, queries, recusals, turns
from allocations.errors import BadTerms, NotAllowed, WrongState
from allocations.models import Pitch, Recusal
from inventory.models import Event
from tests import factories
from tests.allocations.acts import approve, submit, told, verbs
from tests.allocations.test_deputies import name
from tests.races import Window, at_once, kinds

pytestmark = pytest.mark.django_db


def recuse(pitch, by, reason="My sister leads the project.") -> Recusal:
    return recusals.recuse(pitch=pitch, by=by, reason=reason)


def waiting(person) -> list[str]:
    return [pitch.title for pitch in queries.queue_of(person)]


def test_who_stepped_aside_signs_no_more_and_the_fellow_holder_is_told(world):
    second = factories.holder("chief-scientist", "second-chief")
    pitch = submit(world)

    recusal = recuse(pitch, world.chief)

    assert (recusal.person, recusal.reason) == (world.chief, "My sister leads the project.")
    assert (waiting(world.chief), waiting(second)) == ([], [pitch.title])
    assert set(told("pitch.recused")) == {"second-chief"}
    with pytest.raises(NotAllowed):
        approve(world, pitch, world.chief, "chief-scientist")


def test_who_stepped_aside_signs_neither_as_a_deputy_nor_through_one(world):
    """google/grr#389: the way round by another's name is no way."""
    hugo, second = factories.person("hugo"), factories.holder("research-head", "second-head")
    name(world, world.head, world.chief, "research-head")
    name(world, world.chief, hugo, "chief-scientist")
    pitch = submit(world)

    recuse(pitch, world.chief)

    assert (waiting(world.chief), waiting(hugo)) == ([], [])
    for person, role in ((world.chief, "research-head"), (hugo, "chief-scientist")):
        with pytest.raises(NotAllowed):
            approve(world, pitch, person, role)
    assert approve(world, pitch, second, "research-head").person == second


def test_a_deputy_who_steps_aside_leaves_the_turn_to_the_principal(world):
    hugo = factories.person("hugo")
    name(world, world.chief, hugo, "chief-scientist")
    pitch = submit(world)

    recuse(pitch, hugo)

    assert (waiting(hugo), waiting(world.chief)) == ([], [pitch.title])
    assert (set(told("pitch.recused")), told("pitch.held")) == ({"chief-scientist"}, [])


def test_a_pitch_that_nobody_is_left_for_is_held_and_the_admins_know(world):
    """MCKRUZ/microsoft-agentic-harness#393: an approval without an approver timed out instead of raising an alarm."""
    pitch = submit(world)

    recuse(pitch, world.chief)

    pitch.refresh_from_db()
    assert (pitch.state, queries.role_nobody_is_left_for(pitch)) == (
        Pitch.State.SUBMITTED,
        world.role("chief-scientist"),
    )
    assert set(told("pitch.held")) == {"admin"}
    assert verbs(pitch)[-2:] == ["pitch.recused", "pitch.held"]


def test_a_held_pitch_goes_on_once_somebody_has_the_role(world):
    pitch = submit(world)
    recuse(pitch, world.chief)

    projects.give_role(role=world.role("chief-scientist"), person=world.stranger, by=world.admin)

    assert queries.role_nobody_is_left_for(pitch) is None
    assert approve(world, pitch, world.stranger, "chief-scientist").role == world.role("chief-scientist")


def test_a_person_who_is_left_for_two_roles_is_not_left_for_both(world):
    """gravitational/teleport#36854."""
    factories.holder("chief-scientist", who=world.head)
    pitch = submit(world)

    recuse(pitch, world.chief)

    assert set(told("pitch.held")) == {"admin"}


def test_a_repeat_changes_nothing_and_a_reason_is_due(world):
    pitch = submit(world)

    with pytest.raises(BadTerms) as refused:
        recuse(pitch, world.chief, reason=" ")
    first = recuse(pitch, world.chief)
    again = recuse(pitch, world.chief, reason="Once more.")

    assert refused.value.facts["field"] == "reason"
    assert (again, again.reason) == (first, first.reason)
    assert verbs(pitch).count("pitch.recused") == 1


def test_only_whose_turn_it_is_steps_aside(world):
    pitch = submit(world)
    approve(world, pitch, world.chief, "chief-scientist")

    for person in (world.chief, world.ceo, world.pitcher, world.ops):
        with pytest.raises(NotAllowed):
            recuse(pitch, person)
    approve(world, pitch, world.head, "research-head")
    with pytest.raises(WrongState):
        recuse(Pitch.objects.get(pk=pitch.pk), factories.holder("research-head", "late-head"))

    assert Recusal.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_stepping_aside_and_signing_at_once_is_one_of_the_two(world, monkeypatch):
    pitch = submit(world)
    window = Window()
    monkeypatch.setattr(recusals.aside, "lock_row", window.after(recusals.aside.lock_row))
    monkeypatch.setattr(turns, "require_turn", window.after(turns.require_turn))

    outcomes = at_once(
        lambda: recuse(Pitch.objects.get(pk=pitch.pk), world.chief),
        lambda: approve(world, Pitch.objects.get(pk=pitch.pk), world.chief, "chief-scientist"),
    )

    assert kinds(outcomes) in (["NotAllowed", "Recusal"], ["NotAllowed", "SignOff"])
    assert Recusal.objects.count() + pitch.sign_offs.count() == 1
    assert Event.objects.filter(verb__in=["pitch.recused", "sign_off.given"]).count() == 1


class TestLastHolder:
    def test_the_last_holder_of_a_role_leaves_and_the_admins_know(self, world):
        """MCKRUZ/microsoft-agentic-harness#393."""
        pitch = submit(world)

        projects.end_role(role=world.role("chief-scientist"), person=world.chief, by=world.admin)

        pitch.refresh_from_db()
        assert set(told("role.ended")) == {"admin"}
        assert (pitch.state, queries.role_nobody_is_left_for(pitch).slug) == (Pitch.State.SUBMITTED, "chief-scientist")

    def test_one_of_two_holders_leaves_and_nobody_is_alarmed(self, world):
        factories.holder("chief-scientist", "second-chief")

        projects.end_role(role=world.role("chief-scientist"), person=world.chief, by=world.admin)

        assert told("role.ended") == []
