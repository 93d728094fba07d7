"""A declared conflict of interest: nothing of the project is signed, by no door, while it lasts."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import changes, emergencies, projects, queries, recusals, rules, turns
from allocations.errors import BadTerms, NobodyToSign, NotAllowed, WrongState
from allocations.models import ConflictOfInterest, GrantChange, Pitch
from inventory.models import Event
from tests import factories
from tests.allocations.acts import approve, submit, told, verbs
from tests.allocations.test_deputies import name
from tests.races import Window, at_once, kinds

pytestmark = pytest.mark.django_db


def declare(world, who, *, by=None, until=None, reason="My brother works there.", project=None) -> ConflictOfInterest:
    return recusals.declare_conflict(
        person=who, project=project or world.project, by=by or who, reason=reason, until=until
    )


def waiting(person) -> list[str]:
    return [pitch.title for pitch in queries.queue_of(person)]


def shrinking(world, *, by=None, gpus=8) -> GrantChange:
    grant = factories.grant(world.project, gpus=32)
    return changes.ask_change(grant=grant, by=by or world.ceo, gpus=gpus, takes_effect_at=None, reason="Idle.")


def test_a_conflict_takes_what_waits_out_of_the_queue_and_the_fellow_holder_is_told(world):
    second = factories.holder("chief-scientist", "second-chief")
    pitch = submit(world)

    conflict = declare(world, world.chief)

    assert (conflict.person, conflict.project, conflict.declared_by) == (world.chief, world.project, world.chief)
    assert (waiting(world.chief), waiting(second)) == ([], [pitch.title])
    assert set(told("conflict.declared")) == {"second-chief"}
    assert Event.objects.get(verb="conflict.declared").subject_label == world.project.name
    with pytest.raises(NotAllowed) as refused:
        approve(world, pitch, world.chief, "chief-scientist")
    assert refused.value.message.startswith("You have declared a conflict of interest with its project.")


def test_a_conflict_bars_as_a_deputy_and_through_one(world):
    hugo, second = factories.person("hugo"), factories.holder("research-head", "second-head")
    name(world, world.head, world.chief, "research-head")
    name(world, world.chief, hugo, "chief-scientist")
    pitch = submit(world)

    declare(world, world.chief)

    assert (waiting(world.chief), waiting(hugo)) == ([], [])
    for person, role in ((world.chief, "research-head"), (hugo, "chief-scientist")):
        with pytest.raises(NotAllowed):
            approve(world, pitch, person, role)
    assert approve(world, pitch, second, "research-head").person == second


def test_a_conflict_bars_from_no_other_project(world):
    theirs = factories.project("other-group", division=world.research, lead=world.pitcher)
    other = submit(world, project=theirs)
    before = waiting(world.chief)

    declare(world, world.chief)

    assert (before, waiting(world.chief)) == ([other.title], [other.title])


def test_who_waits_is_told_and_the_admins_where_nobody_is_left(world):
    pitch = submit(world)

    declare(world, world.chief)

    assert queries.role_nobody_is_left_for(pitch) == world.role("chief-scientist")
    assert set(told("pitch.held")) == {"admin"}
    assert verbs(pitch)[-1] == "pitch.held"


def test_a_pitch_that_only_the_conflicted_could_sign_is_not_submitted(world):
    declare(world, world.chief)

    with pytest.raises(NobodyToSign):
        submit(world)


@pytest.mark.parametrize("kind", GrantChange.Kind.values)
def test_no_change_of_a_grant_is_signed_in_conflict_whatever_its_kind(world, kind):
    factories.holder("chief-scientist", "second-chief")
    change = shrinking(world)
    GrantChange.objects.filter(pk=change.pk).update(kind=kind)
    change.refresh_from_db()
    before = list(queries.changes_waiting_for(world.chief))

    declare(world, world.chief)

    assert (before, list(queries.changes_waiting_for(world.chief))) == ([change], [])
    assert world.chief not in queries.signers_of_change(change)
    with pytest.raises(NotAllowed):
        changes.sign_change(change=change, by=world.chief)


def test_a_change_that_nobody_is_left_for_is_held_and_the_admins_know(world):
    change = shrinking(world)

    declare(world, world.chief)

    assert queries.role_nobody_is_left_for_change(change) == world.role("chief-scientist")
    assert set(told("change.held")) == {"admin"}


def test_no_emergency_and_no_terms_come_from_somebody_in_conflict(world):
    pitch = submit(world)
    allowed = [rules.can(world.chief, action, row) for action, row in _signed_alone(world, pitch)]

    declare(world, world.chief)

    pitch = Pitch.objects.get(pk=pitch.pk)
    assert (allowed, [rules.can(world.chief, action, row) for action, row in _signed_alone(world, pitch)]) == (
        [True, True],
        [False, False],
    )
    with pytest.raises(NotAllowed):
        emergencies.grant_emergency(pitch=pitch, by=world.chief, reason="Now.")


def _signed_alone(world, pitch) -> list:
    return [("grant_emergency", pitch), ("set_terms", world.project)]


def test_what_was_signed_before_stays_signed(world):
    pitch = submit(world)
    approve(world, pitch, world.chief, "chief-scientist")

    declare(world, world.chief)
    approve(world, pitch, world.head, "research-head")

    pitch.refresh_from_db()
    assert (pitch.state, told("pitch.held")) == (Pitch.State.GRANTED, [])


def test_it_ends_by_its_date(world, time_machine):
    factories.holder("chief-scientist", "second-chief")
    time_machine.move_to(timezone.now(), tick=False)
    until = timezone.now() + timedelta(days=3)
    pitch = submit(world)
    declare(world, world.chief, until=until)

    time_machine.move_to(until - timedelta(seconds=1), tick=False)
    before = waiting(world.chief)
    time_machine.move_to(until, tick=False)

    assert (before, waiting(world.chief)) == ([], [pitch.title])


def test_it_is_ended_and_those_who_sign_beside_are_told(world):
    second = factories.holder("chief-scientist", "second-chief")
    pitch = submit(world)
    conflict = declare(world, world.chief)

    recusals.end_conflict(conflict=conflict, by=world.chief, reason="He has left.")

    assert waiting(world.chief) == [pitch.title]
    assert set(told("conflict.ended")) == {second.username}
    with pytest.raises(WrongState):
        recusals.end_conflict(conflict=conflict, by=world.chief, reason="Once more.")
    assert verbs(conflict) == ["conflict.declared", "conflict.ended"]


def test_only_the_person_and_an_admin_declare_and_end_it(world):
    declared = {}
    for who in world.everyone.values():
        try:
            conflict = declare(world, world.head, by=who)
            recusals.end_conflict(conflict=conflict, by=who, reason="Over.")
            declared[who.username] = conflict.declared_by
        except NotAllowed:
            continue

    assert declared == {"research-head": world.head, "admin": world.admin}
    assert set(told("conflict.declared")) == {"research-head"}


def test_a_repeat_changes_nothing_and_a_reason_and_a_sensible_end_are_due(world):
    with pytest.raises(BadTerms) as silent:
        declare(world, world.chief, reason=" ")
    with pytest.raises(BadTerms) as over:
        declare(world, world.chief, until=timezone.now() - timedelta(days=1))
    first = declare(world, world.chief)

    assert (silent.value.facts["field"], over.value.facts["field"]) == ("reason", "until_on")
    assert declare(world, world.chief, reason="Once more.") == first
    assert ConflictOfInterest.objects.count() == 1


def test_nothing_is_declared_about_a_project_that_has_ended(world):
    projects.end_project(project=world.project, by=world.lead, reason="Done.")

    with pytest.raises(WrongState):
        declare(world, world.chief)


@pytest.mark.django_db(transaction=True)
def test_declaring_and_signing_at_once_leaves_no_signature_after_the_declaration(world, monkeypatch):
    pitch = submit(world)
    window = Window()
    monkeypatch.setattr(recusals.conflicts, "lock_row", window.before(recusals.conflicts.lock_row))
    monkeypatch.setattr(turns, "require_turn", window.after(turns.require_turn))

    outcomes = at_once(
        lambda: declare(world, world.chief),
        lambda: approve(world, Pitch.objects.get(pk=pitch.pk), world.chief, "chief-scientist"),
    )

    # One waits for the other: they never stand there together, and the trail has them in the order of their effects.
    assert not window.met
    order = list(
        Event.objects.filter(verb__in=["conflict.declared", "sign_off.given"])
        .order_by("pk")
        .values_list("verb", flat=True)
    )
    assert (kinds(outcomes), order) in (
        (["ConflictOfInterest", "NotAllowed"], ["conflict.declared"]),
        (["ConflictOfInterest", "SignOff"], ["sign_off.given", "conflict.declared"]),
    )


@pytest.mark.django_db(transaction=True)
def test_declared_twice_at_once_it_is_one(world, monkeypatch):
    window = Window()
    monkeypatch.setattr(queries, "conflicts_now", window.after(queries.conflicts_now))

    outcomes = at_once(lambda: declare(world, world.chief), lambda: declare(world, world.chief, by=world.admin))

    assert (kinds(outcomes), ConflictOfInterest.objects.count()) == (["ConflictOfInterest"] * 2, 1)
