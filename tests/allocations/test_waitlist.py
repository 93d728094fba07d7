"""The waitlist: ranks without gaps for a division and a model, signed from there, pointed out once when it fits."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import grants, pitches, queries
from allocations.errors import BadTerms, NotAllowed, WrongState
from allocations.models import Grant, Pitch, SignOff
from allocations.pitches import waitlist
from inventory.models import Event
from tests import factories
from tests.allocations.acts import approve, decline, submit, told
from tests.races import Window, at_once, kinds

pytestmark = pytest.mark.django_db


def put(world, pitch, *, rank=None, who=None, role="chief-scientist", **changes) -> SignOff:
    return pitches.sign_off(
        pitch=pitch, by=who or world.chief, role=world.role(role), verdict="waitlist", rank=rank,
        **{"round": pitch.round, **changes},
    )  # fmt: skip


def listed(world, *titles, **terms) -> list[Pitch]:
    rows = [submit(world, title=title, **terms) for title in titles]
    for row in rows:
        put(world, row)
    return rows


def order() -> list[tuple[str, int]]:
    rows = Pitch.objects.filter(state="waitlisted").order_by("waitlist_rank", "pk")
    return list(rows.values_list("title", "waitlist_rank"))


@pytest.mark.usefixtures("noon")
class TestRanks:
    def test_whoever_has_a_pitch_on_the_list_ranks_nobody_there(self, world):
        """A signer who moves the others behind moves an own pitch forward."""
        (other,) = listed(world, "A")
        own = submit(world, by=world.ops, title="Own")
        put(world, own)
        own.pitcher = world.chief
        own.save()

        with pytest.raises(NotAllowed):
            pitches.rank_waitlisted(pitch=other, by=world.chief, rank=2)
        with pytest.raises(NotAllowed):
            put(world, submit(world, title="B"), rank=1)
        pitches.rank_waitlisted(pitch=other, by=world.head, rank=2)

        assert order() == [("Own", 1), ("A", 2)]

    def test_one_signer_puts_a_pitch_at_the_end(self, world):
        listed(world, "A", "B")

        assert order() == [("A", 1), ("B", 2)]
        assert told("pitch.waitlisted") == ["pitcher", "pitcher"]

    def test_a_rank_in_between_moves_the_others(self, world):
        listed(world, "A", "B")

        put(world, submit(world, title="C"), rank=2)

        assert order() == [("A", 1), ("C", 2), ("B", 3)]

    @pytest.mark.parametrize(("rank", "titles"), [(1, "CAB"), (3, "ABC"), (99, "ABC")])
    def test_a_decider_changes_the_rank(self, world, rank, titles):
        rows = listed(world, "A", "B", "C")

        pitches.rank_waitlisted(pitch=rows[2], by=world.head, rank=rank)

        assert order() == [(title, place) for place, title in enumerate(titles, start=1)]
        assert Event.objects.filter(verb="pitch.ranked").count() == (titles != "ABC")

    @pytest.mark.parametrize("login", ["pitcher", "lead", "ceo", "ops", "admin"])
    def test_nobody_else_ranks(self, world, login):
        (row,) = listed(world, "A")

        with pytest.raises(NotAllowed):
            pitches.rank_waitlisted(pitch=row, by=world.everyone[login], rank=1)

    @pytest.mark.parametrize("rank", [0, -1])
    def test_a_rank_below_the_first_is_refused(self, world, rank):
        pitch = submit(world)

        with pytest.raises(BadTerms):
            put(world, pitch, rank=rank)

        assert (pitch.state, order()) == ("submitted", [])

    def test_divisions_and_models_have_lists_of_their_own(self, world):
        listed(world, "A")
        applied = submit(world, by=world.applied_pitcher, project=world.applied_project, title="B")

        put(world, applied, who=world.ceo_apps, role="ceo-applications")

        assert order() == [("A", 1), ("B", 1)]

    @pytest.mark.parametrize("way", ["granted", "declined", "withdrawn", "changes", "offered"])
    def test_whoever_leaves_the_list_closes_the_gap(self, world, way):
        rows = listed(world, "A", "B", "C", gpus=16)
        first = rows[0]
        if way in ("granted", "offered"):
            approve(world, first, world.chief, "chief-scientist", **({"gpus": 4} if way == "offered" else {}))
            approve(world, first, world.head, "research-head")
        elif way == "declined":
            decline(world, first, world.head, "research-head")
        elif way == "withdrawn":
            pitches.withdraw_pitch(pitch=first, by=world.pitcher)
        else:
            put_changes = {"verdict": "changes", "round": first.round, "reason": "Which baseline?"}
            pitches.sign_off(pitch=first, by=world.head, role=world.role("research-head"), **put_changes)

        assert (first.state, first.waitlist_rank) == (way, None)
        assert order() == [("B", 1), ("C", 2)]

    def test_signatures_begin_anew_on_the_list(self, world):
        pitch = submit(world)
        approve(world, pitch, world.head, "research-head")
        put(world, pitch)
        assert (pitch.state, pitch.round, SignOff.objects.filter(round=2).count()) == ("waitlisted", 2, 0)

        approve(world, pitch, world.chief, "chief-scientist")

        assert (pitch.state, Grant.objects.count()) == ("waitlisted", 0)
        assert list(queries.waitlist_of(world.head)) == [pitch]
        assert list(queries.queue_of(world.head)) == list(queries.waitlist_of(world.chief)) == []

    def test_once_on_the_list_it_is_not_put_there_again(self, world):
        (row,) = listed(world, "A")

        with pytest.raises(WrongState):
            put(world, row, who=world.head, role="research-head")

        assert order() == [("A", 1)]


@pytest.mark.usefixtures("noon")
class TestPointedOut:
    @pytest.fixture
    def waiting(self, world):
        """Three on the list, the first of them larger than all that Research has; 10 of its 60 are free."""
        rows = listed(world, "Large", "Small", "Smaller", gpus=8)
        Pitch.objects.filter(title="Large").update(ideal_gpus=40, min_gpus=40, offered_gpus=40)
        factories.grant(world.project, gpus=50)
        return rows

    def test_the_first_that_fits_is_pointed_out_once(self, world, waiting):
        last = factories.grant(world.project, gpus=10)
        assert pitches.point_out_waitlisted() == 0
        grants.end_grant(grant=last, by=world.lead, reason="Done.")

        assert [pitches.point_out_waitlisted() for _each in range(3)] == [1, 0, 0]

        event = Event.objects.get(verb="pitch.fits")
        assert event.subject_label == "Small"
        assert told("pitch.fits") == ["chief-scientist", "research-head"]
        assert Pitch.objects.filter(state="waitlisted").count() == 3

    def test_it_fits_when_its_minimum_does(self, world, waiting):
        Pitch.objects.filter(title="Small").update(ideal_gpus=64, offered_gpus=64)

        assert pitches.point_out_waitlisted() == 1
        assert Event.objects.get(verb="pitch.fits").subject_label == "Small"

    def test_two_ticks_at_once_tell_once(self, world, waiting):
        first = Pitch.objects.get(title="Small")

        assert [waitlist._point_out(first), waitlist._point_out(first)] == [True, False]

    def test_its_queries_do_not_grow_with_the_list(self, world, waiting, django_assert_max_num_queries):
        factories.grant(world.project, gpus=10)

        with django_assert_max_num_queries(10):
            pitches.point_out_waitlisted()


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_two_put_at_the_first_rank_at_once_have_two_ranks(self, world, monkeypatch):
        rows = [submit(world, title=title) for title in "AB"]
        factories.grant(world.project, gpus=1, ends_at=timezone.now() + timedelta(days=1))
        put(world, submit(world, title="Old"))  # the shares are there
        monkeypatch.setattr(waitlist, "_others", Window().after(waitlist._others))

        outcomes = at_once(
            lambda: put(world, rows[0], rank=1),
            lambda: put(world, rows[1], rank=1, who=world.head, role="research-head"),
        )

        assert kinds(outcomes) == ["SignOff", "SignOff"]
        assert [rank for _title, rank in order()] == [1, 2, 3]
        assert order()[2][0] == "Old"
