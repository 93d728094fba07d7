"""A round of changes: asked for with a reason, the same pitch edited and submitted, old signatures history."""

from datetime import UTC, datetime, timedelta

import pytest

from allocations import pitches, queries, reminders
from allocations.errors import BadTerms, NotAllowed, Stale, WrongState
from allocations.models import Grant, PitchRevision, PolicyRole, SignOff
from inventory.models import Event
from tests.allocations.acts import approve, decline, draft, submit, told, verbs

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


def ask(world, pitch, who, role, **changes) -> SignOff:
    terms = {"round": pitch.round, "reason": "Say what the baseline is."}
    return pitches.sign_off(pitch=pitch, by=who, role=world.role(role), verdict="changes", **{**terms, **changes})


@pytest.fixture
def asked(world):
    """The head has signed, the chief asked for changes."""
    pitch = submit(world)
    approve(world, pitch, world.head, "research-head")
    ask(world, pitch, world.chief, "chief-scientist")
    return pitch


def resubmit(world, pitch, **changes):
    draft(world, pitch=pitch, **changes)
    return pitches.submit_pitch(pitch=pitch, by=world.pitcher)


def test_the_pitch_is_its_pitchers_again(world, asked):
    assert (asked.state, told("pitch.changes")) == ("changes", ["pitcher"])
    assert list(queries.queue_of(world.chief)) == list(queries.queue_of(world.head)) == []
    for act in (approve, decline):
        with pytest.raises(WrongState):
            act(world, asked, world.chief, "chief-scientist")


def test_it_needs_a_reason(world):
    pitch = submit(world)

    with pytest.raises(BadTerms) as refused:
        ask(world, pitch, world.chief, "chief-scientist", reason="")

    assert (refused.value.facts["field"], pitch.state) == ("reason", "submitted")


def test_submitted_again_it_needs_all_signatures_anew_and_keeps_its_place(world, asked, noon, time_machine):
    time_machine.move_to(noon + timedelta(days=2), tick=False)

    resubmit(world, asked, why="The baseline is 41 %.", start_on=noon.date() + timedelta(days=2))

    assert (asked.state, asked.round, asked.submitted_at) == ("submitted", 2, noon)
    assert [role.slug for role in queries.roles_that_wait(asked)] == ["chief-scientist", "research-head"]
    assert SignOff.objects.filter(round=1).count() == 2
    approve(world, asked, world.chief, "chief-scientist")
    assert Grant.objects.count() == 0
    approve(world, asked, world.head, "research-head")
    assert asked.state == "granted"
    assert verbs(asked)[3:7] == ["sign_off.given", "pitch.changes", "pitch.edited", "pitch.revised"]


def test_what_it_said_is_kept_and_the_difference_shows(world, asked):
    resubmit(world, asked, why="The baseline is 41 %.", gpus=24)

    revision = PitchRevision.objects.get()

    assert (revision.round, revision.by) == (1, world.chief)
    assert pitches.changed_since(revision, asked) == {
        "why": ("The 400-residue limit is ours alone.", "The baseline is 41 %."),
        "ideal_gpus": ("32", "24"),
    }
    assert asked.terms.gpus == 24


def test_terms_that_lay_on_the_table_are_gone(world):
    pitch = submit(world)
    approve(world, pitch, world.head, "research-head", gpus=10, days=20)
    ask(world, pitch, world.chief, "chief-scientist")

    resubmit(world, pitch)

    assert (pitch.terms, pitch.round) == (pitch.asked, 3)


def test_the_policy_of_that_day_signs(world, asked):
    PolicyRole.objects.filter(role=world.role("research-head")).delete()

    resubmit(world, asked)

    assert [role.slug for role in queries.needed_by(asked)] == ["chief-scientist"]


def test_nobody_but_its_pitcher_changes_it(world, asked):
    for login in ("team-mate", "lead", "chief-scientist"):
        with pytest.raises(NotAllowed):
            draft(world, pitch=asked, by=world.everyone[login])
        with pytest.raises(NotAllowed):
            pitches.submit_pitch(pitch=asked, by=world.everyone[login])

    assert asked.state == "changes"


def test_it_can_be_withdrawn_instead(world, asked):
    pitches.withdraw_pitch(pitch=asked, by=world.lead)

    assert asked.state == "withdrawn"


def test_pressed_twice_it_is_asked_once(world):
    pitch = submit(world)
    first = ask(world, pitch, world.chief, "chief-scientist", round=1)

    again = ask(world, pitch, world.chief, "chief-scientist", round=1)

    assert (again, PitchRevision.objects.count(), told("pitch.changes")) == (first, 1, ["pitcher"])


def test_a_signer_who_saw_the_ask_before_its_changes_signs_nothing(world, asked):
    resubmit(world, asked, gpus=24)

    with pytest.raises(Stale):
        approve(world, asked, world.head, "research-head", round=1, gpus=24)

    assert asked.sign_offs.filter(round=2).count() == 0


def test_others_see_what_was_asked_to_change_while_it_is_changed(world, asked):
    """A decided or waiting pitch stays readable (gravitational/teleport#68308), and its edits stand in the trail."""
    draft(world, pitch=asked, title="Fold them faster")

    assert asked in queries.pitches_visible_to(world.head)
    assert Event.objects.filter(verb="pitch.edited").last().subject_label == "Fold them faster"


def test_it_is_due_by_a_day_that_reminds_and_decides_nothing(world, asked, time_machine):
    due_at = asked.answer_due_at
    time_machine.move_to(due_at, tick=False)
    reminders.remind()

    assert due_at == datetime(2027, 3, 4, 12, tzinfo=UTC)
    assert (asked.answer_reminded_at, told("pitch.answer_reminded")) == (None, ["lead", "pitcher"])
    assert type(asked).objects.get(pk=asked.pk).state == "changes"


def test_submitted_again_or_undone_nothing_is_due_any_more(world, asked):
    resubmit(world, asked)
    other = submit(world)
    signed = ask(world, other, world.chief, "chief-scientist")
    pitches.undo_sign_off(sign_off=signed, by=world.chief)

    assert [type(asked).objects.get(pk=row.pk).answer_due_at for row in (asked, other)] == [None, None]
