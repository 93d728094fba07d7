"""Undo for ten seconds: the pitch stands as before, nobody was told, the trail has both."""

from datetime import timedelta

import pytest

from allocations import grants, notify, outbox, pitches, plans, queries
from allocations.errors import NotAllowed, Stale, WrongState
from allocations.models import Grant, Notice, OutboxMessage, Pitch, PitchRevision, SignOff
from allocations.pitches import undo, writing
from inventory.models import Event
from tests.allocations.acts import approve, decline, draft, submit, told, verbs
from tests.allocations.machines import committed
from tests.races import Window, at_once, kinds

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)


def take_back(signed, who=None):
    return pitches.undo_sign_off(sign_off=signed, by=who or signed.person)


def answer(world, pitch, verdict, who=None, role="research-head", **changes):
    terms = {"round": pitch.round, "reason": "Because.", **changes}
    return pitches.sign_off(pitch=pitch, by=who or world.head, role=world.role(role), verdict=verdict, **terms)


def standing(pitch) -> tuple:
    pitch.refresh_from_db()
    return (
        pitch.state, pitch.round, pitch.terms, pitch.waitlist_rank, pitch.decided_by, pitch.decided_at,
        pitch.offered_at, pitch.answer_due_at,
    )  # fmt: skip


@pytest.mark.usefixtures("noon")
class TestUndo:
    @pytest.mark.parametrize(
        ("verdict", "changes"),
        [
            ("approve", {}),
            ("approve", {"gpus": 16}),
            ("approve", {"gpus": 4}),
            ("approve", {"days": 20}),
            ("decline", {}),
            ("changes", {}),
            ("waitlist", {"rank": 1}),
        ],
    )
    @pytest.mark.parametrize("first", [True, False], ids=["first signer", "last signer"])
    def test_everything_stands_as_before(self, world, verdict, changes, first):
        pitch = submit(world)
        if not first:
            approve(world, pitch, world.chief, "chief-scientist")
        before, notices = standing(pitch), list(Notice.objects.order_by("pk"))
        signed = answer(world, pitch, verdict, **changes)

        take_back(signed)

        assert standing(pitch) == before
        assert list(Notice.objects.order_by("pk")) == notices
        assert not OutboxMessage.objects.filter(event__facts__sign_off=signed.pk).exists()
        assert SignOff.objects.filter(person=world.head).count() == PitchRevision.objects.count() == 0
        assert list(queries.queue_of(world.head)) == [pitch]
        assert not queries.promised_until(at=signed.at).exists()
        assert verbs(pitch)[-1] == "sign_off.undone"

    @pytest.mark.parametrize("verdict", ["approve", "decline", "changes"])
    def test_a_pitch_of_the_waitlist_is_back_at_its_rank(self, world, verdict):
        rows = [submit(world, title=title, gpus=8) for title in "ABC"]
        for row in rows:
            answer(world, row, "waitlist", world.chief, "chief-scientist")
        if verdict == "approve":
            approve(world, rows[1], world.chief, "chief-scientist")
        signed = answer(world, rows[1], verdict)

        take_back(signed)

        ranks = Pitch.objects.order_by("waitlist_rank").values_list("title", "state", "waitlist_rank")
        assert list(ranks) == [("A", "waitlisted", 1), ("B", "waitlisted", 2), ("C", "waitlisted", 3)]

    def test_its_grant_promises_nothing_and_says_whose_it_was(self, world):
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist")
        signed = approve(world, pitch, world.head, "research-head")

        take_back(signed)

        grant = Grant.objects.get()
        assert (grant.pitch, grant.undone_pitch, grant.ends_at) == (None, pitch, grant.starts_at)
        assert list(queries.needs()) == []
        assert verbs(grant) == ["grant.issued", "grant.withdrawn"]
        approve(world, pitch, world.head, "research-head")
        assert (pitch.state, Grant.objects.filter(pitch=pitch).count()) == ("granted", 1)

    def test_what_asked_for_the_signature_is_open_again_once(self, world):
        pitch = submit(world)
        path = f"/queue/{pitch.public_id}/"
        Notice.objects.filter(path=path, person=world.chief).update(read_at=pitch.submitted_at - SECOND)
        before = list(Notice.objects.filter(path=path).order_by("pk").values_list("person", "read_at"))
        signed = answer(world, pitch, "decline")
        settled = Notice.objects.filter(path=path, read_at=None).count()

        take_back(signed)
        take_back(signed)

        assert settled == 0
        assert list(Notice.objects.filter(path=path).order_by("pk").values_list("person", "read_at")) == before

    def test_a_round_number_never_means_two_things(self, world):
        """Somebody had round 2 open with 16 GPUs; it was undone, and another round has 10."""
        pitch = submit(world)
        take_back(approve(world, pitch, world.head, "research-head", gpus=16))
        pitch.refresh_from_db()
        approve(world, pitch, world.head, "research-head", gpus=10)

        with pytest.raises(Stale):
            approve(world, pitch, world.chief, "chief-scientist", round=2)

        assert (pitch.round, pitch.offered_gpus, pitch.state) == (3, 10, "submitted")

    def test_undone_twice_it_is_undone_once(self, world):
        signed = approve(world, submit(world), world.head, "research-head")

        assert [take_back(signed).undone_at, take_back(signed).undone_at] == [signed.at, signed.at]
        assert Event.objects.filter(verb="sign_off.undone").count() == 1

    @pytest.mark.parametrize("login", ["chief-scientist", "pitcher", "ceo", "admin"])
    def test_only_its_author_undoes_it(self, world, login):
        signed = approve(world, submit(world), world.head, "research-head")

        with pytest.raises(NotAllowed):
            take_back(signed, world.everyone[login])

    @pytest.mark.parametrize(
        ("verdict", "hint"),
        [
            ("approve", "Whoever signs for another role can still decline it"),
            ("decline", "The pitcher can pitch it again"),
            ("changes", "The pitcher can submit it again as it is."),
            ("waitlist", "Sign it from the waitlist"),
        ],
    )
    def test_after_ten_seconds_it_stands_and_the_refusal_says_what_to_do(
        self, world, noon, time_machine, verdict, hint
    ):
        pitch = submit(world)
        signed = answer(world, pitch, verdict)
        after = standing(pitch)
        time_machine.move_to(noon + 10 * SECOND, tick=False)

        with pytest.raises(WrongState) as refused:
            take_back(signed)

        assert "An answer can be undone for 10 seconds." in refused.value.message
        assert hint in refused.value.message
        assert standing(pitch) == after

    def test_a_second_signature_makes_the_first_stand(self, world):
        pitch = submit(world)
        signed = approve(world, pitch, world.chief, "chief-scientist")
        approve(world, pitch, world.head, "research-head")

        with pytest.raises(Stale):
            take_back(signed)

        assert (pitch.state, Grant.objects.count()) == ("granted", 1)

    def test_an_accepted_offer_stands(self, world):
        pitch = submit(world)
        approve(world, pitch, world.chief, "chief-scientist", gpus=4)
        signed = approve(world, pitch, world.head, "research-head")
        pitches.accept_offer(pitch=pitch, by=world.pitcher, round=pitch.round)

        with pytest.raises(Stale):
            take_back(signed)

        assert Grant.objects.get().pitch == pitch

    def test_a_pitch_that_is_being_changed_stays_with_its_pitcher(self, world):
        pitch = submit(world)
        signed = answer(world, pitch, "changes")
        draft(world, pitch=pitch, why="Better.", is_autosave=True)

        with pytest.raises(Stale):
            take_back(signed)

        assert standing(pitch)[0] == "changes"


class TestNothingHasLeft:
    def test_nobody_hears_of_it_before_the_ten_seconds_are_over(self, world, noon, time_machine, mailoutbox):
        pitch = submit(world)
        outbox.deliver_due()
        mailoutbox.clear()
        decline(world, pitch, world.head, "research-head")

        for seconds, mails in ((9, 0), (10, 1)):
            time_machine.move_to(noon + seconds * SECOND, tick=False)
            outbox.deliver_due()
            assert (len(mailoutbox), notify.unread_of(world.pitcher).count()) == (mails, mails)

    def test_an_undone_answer_is_never_heard_of(self, world, noon, time_machine, mailoutbox):
        pitch = submit(world)
        outbox.deliver_due()
        mailoutbox.clear()
        take_back(decline(world, pitch, world.head, "research-head"))

        time_machine.move_to(noon + timedelta(days=1), tick=False)
        outbox.deliver_due()

        assert (len(mailoutbox), notify.notices_of(world.pitcher).count()) == (0, 0)

    def test_what_has_left_is_not_taken_back(self, world, noon):
        signed = decline(world, submit(world), world.head, "research-head")
        OutboxMessage.objects.filter(event__verb="pitch.declined").update(sent_at=noon)

        with pytest.raises(WrongState):
            take_back(signed)

        assert told("pitch.declined") == ["pitcher"]


class TestAPlanUsesTheGrant:
    @pytest.fixture
    def signed(self, world, machines):
        """Granted a moment ago; five free cards of machines that answer."""
        machines.rack(gpus=5)
        pitch = submit(world, gpus=3)
        approve(world, pitch, world.chief, "chief-scientist")
        return approve(world, pitch, world.head, "research-head")

    def test_then_the_answer_stands(self, world, signed):
        committed(Grant.objects.get(), world.ops)

        with pytest.raises(WrongState) as refused:
            take_back(signed)

        assert refused.value.message == (
            "GPUs are being moved for this grant already. Ask for its end on the page of the grant."
        )
        assert Grant.objects.get().pitch == signed.pitch

    def test_a_plan_that_is_only_proposed_finds_no_need_any_more(self, world, signed):
        plan = plans.propose_plan(grant=Grant.objects.get(), by=world.ops)

        take_back(signed)

        with pytest.raises(Stale):
            plans.commit_plan(plan=plan, by=world.ops, generation=queries.target().generation)


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_undone_while_the_second_role_signs(self, world, monkeypatch):
        """calcom/cal.diy#10789 of its kind: one is first, and the other is told."""
        pitch = submit(world)
        signed = approve(world, pitch, world.chief, "chief-scientist")
        monkeypatch.setattr(writing, "write_sign_off", Window().before(writing.write_sign_off))
        monkeypatch.setattr(undo, "_unsay", Window().before(undo._unsay))

        outcomes = at_once(
            lambda: take_back(signed),
            lambda: approve(world, Pitch.objects.get(pk=pitch.pk), world.head, "research-head"),
        )

        pitch.refresh_from_db()
        assert kinds(outcomes) in (["SignOff", "SignOff"], ["SignOff", "Stale"])
        stands = SignOff.objects.filter(person=world.chief).exists()
        assert (pitch.state, Grant.objects.count()) == (("granted", 1) if stands else ("submitted", 0))

    def test_undone_twice_at_once(self, world, monkeypatch):
        signed = approve(world, submit(world), world.chief, "chief-scientist")
        monkeypatch.setattr(undo, "_own_events", Window().after(undo._own_events))

        outcomes = at_once(*[lambda: take_back(signed)] * 2)

        assert kinds(outcomes) == ["SignOff", "SignOff"]
        assert Event.objects.filter(verb="sign_off.undone").count() == 1

    def test_undone_while_a_plan_for_the_grant_is_committed(self, world, machines, monkeypatch):
        machines.rack(gpus=5)
        pitch = submit(world, gpus=3)
        approve(world, pitch, world.chief, "chief-scientist")
        signed = approve(world, pitch, world.head, "research-head")
        plan = plans.propose_plan(grant=Grant.objects.get(), by=world.ops)
        generation = queries.target().generation
        window = Window()
        monkeypatch.setattr(undo, "_require_unused", window.after(undo._require_unused))
        monkeypatch.setattr("allocations.plans.commit._assign", window.before(plans.commit._assign))

        outcomes = at_once(
            lambda: take_back(signed), lambda: plans.commit_plan(plan=plan, by=world.ops, generation=generation)
        )

        grant = Grant.objects.get()
        assert kinds(outcomes) in (["Plan", "WrongState"], ["SignOff", "Stale"])
        assert grant.moves.exists() == (grant.pitch is not None)


def test_a_grant_of_its_own_is_not_touched(world):
    """Undoing an answer to one pitch leaves what another pitch got."""
    other = submit(world, title="Other", gpus=8)
    approve(world, other, world.chief, "chief-scientist")
    approve(world, other, world.head, "research-head")
    signed = approve(world, submit(world), world.head, "research-head")

    take_back(signed)

    assert Grant.objects.get().pitch == other
    assert grants.site_zone() is not None
