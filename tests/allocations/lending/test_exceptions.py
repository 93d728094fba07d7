"""Exceptions above the split: signed by those who sign it, counted for their time, over on their second."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import changes, exceptions, grants, pitches, queries
from allocations.errors import BadTerms, NotAllowed, OverCapacity, OverShare, WrongState
from allocations.models import Grant, SplitException
from tests import factories
from tests.allocations.acts import approve, draft, told
from tests.allocations.changes.acts import both_sign, policy
from tests.races import Window, at_once, kinds

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)


def fresh(row):
    return type(row).objects.get(pk=row.pk)


def propose(world, *, by=None, gpus=20, **more):
    said = {"reason": "The deadline is in May.", "starts_at": more.pop("starts_at"), "ends_at": more.pop("ends_at")}
    return exceptions.propose_exception(
        division=world.research, model=factories.model(), gpus=gpus, by=by or world.chief, **{**said, **more}
    )


def signed(world, **more):
    exception = propose(world, **more)
    exceptions.sign_exception(exception=exception, by=world.ceo)
    return exceptions.sign_exception(exception=exception, by=world.ceo_apps)


def ask(world, gpus, start, end, *, project=None):
    grants.require_room(
        project=project or world.project, model=factories.model(), gpus=gpus, starts_at=start, ends_at=end
    )


@pytest.mark.django_db
@pytest.mark.usefixtures("noon")
class TestSigned:
    def test_both_heads_sign_and_the_share_rises_for_that_time(self, world, noon):
        exception = propose(world, starts_at=noon, ends_at=noon + 10 * DAY)
        exceptions.sign_exception(exception=exception, by=world.ceo)
        with pytest.raises(OverShare):
            ask(world, 61, noon, noon + 10 * DAY)
        exceptions.sign_exception(exception=exception, by=world.ceo)  # one's own again is one
        exceptions.sign_exception(exception=exception, by=world.ceo_apps)

        assert fresh(exception).state == "signed"
        ask(world, 80, noon, noon + 10 * DAY)
        with pytest.raises(OverShare):
            ask(world, 81, noon, noon + 10 * DAY)
        assert told("exception.proposed") == ["ceo", "ceo-applications"]

    def test_it_ends_on_its_second_and_what_is_above_then_is_debt(self, world, noon):
        """kubernetes-sigs/kueue#8654: a time-boxed exception went on after its end."""
        end = noon + 10 * DAY
        signed(world, starts_at=noon, ends_at=end)
        factories.grant(world.project, gpus=75, starts_at=noon, ends_at=noon + 20 * DAY)
        own = queries.capacity_of(factories.model(), at=noon).divisions["research"]

        assert (own.debt.at(end - SECOND), own.debt.at(end), own.share.at(end - SECOND), own.share.at(end)) == (
            0, 15, 80, 60,
        )  # fmt: skip
        ask(world, 5, noon, end)
        with pytest.raises(OverShare):
            ask(world, 1, noon, end + SECOND)

    def test_promises_never_exceed_what_is_healthy(self, world, noon):
        """kueue#2665: promises of 300 out of 256."""
        signed(world, gpus=60, starts_at=noon, ends_at=noon + 10 * DAY)
        factories.grant(world.applied_project, gpus=40)

        with pytest.raises(OverCapacity):
            ask(world, 61, noon, noon + 5 * DAY)

    def test_it_always_has_an_end(self, world, noon):
        with pytest.raises(BadTerms):
            propose(world, starts_at=noon, ends_at=noon)
        with pytest.raises(BadTerms):
            propose(world, starts_at=noon - 5 * DAY, ends_at=noon - DAY)

    @pytest.mark.parametrize("login", ["lead", "ops", "admin", "stranger", "ceo-applications"])
    def test_only_deciders_of_the_division_propose(self, world, noon, login):
        with pytest.raises(NotAllowed):
            propose(world, by=world.everyone[login], starts_at=noon, ends_at=noon + DAY)

    def test_nothing_is_promised_to_a_division_that_has_ended(self, world, noon):
        world.research.ended_at = noon
        world.research.save()

        with pytest.raises(WrongState):
            propose(world, starts_at=noon, ends_at=noon + DAY)

    def test_one_head_does_not_sign_for_both(self, world, noon):
        factories.holder("ceo-applications", who=world.ceo)
        exception = propose(world, starts_at=noon, ends_at=noon + DAY)
        exceptions.sign_exception(exception=exception, by=world.ceo, role=world.role("ceo"))

        with pytest.raises(NotAllowed):
            exceptions.sign_exception(exception=exception, by=world.ceo, role=world.role("ceo-applications"))

    def test_a_renewal_goes_to_those_who_sign_the_split(self, world, noon):
        policy(world, "exception", "chief-scientist")
        first = propose(world, starts_at=noon, ends_at=noon + 10 * DAY)
        assert [role.slug for role in first.roles.all()] == ["chief-scientist"]
        exceptions.sign_exception(exception=first, by=world.chief)

        second = propose(world, starts_at=noon + 15 * DAY, ends_at=noon + 20 * DAY)

        assert second.renews == first
        assert sorted(role.slug for role in second.roles.all()) == ["ceo", "ceo-applications"]

    def test_withdrawn_it_is_signed_no_more(self, world, noon):
        exception = propose(world, starts_at=noon, ends_at=noon + DAY)
        exceptions.withdraw_exception(exception=exception, by=world.chief)

        with pytest.raises(WrongState):
            exceptions.sign_exception(exception=fresh(exception), by=world.ceo)


@pytest.mark.django_db
@pytest.mark.usefixtures("noon")
class TestWithAPitch:
    def over(self, world):
        policy(world, "pitch", "ceo", over_share=True, division=world.research)
        pitch = pitches.submit_pitch(pitch=draft(world, gpus=80), by=world.pitcher)
        assert pitch.is_over_share
        return pitch

    def sign_all(self, world, pitch):
        approve(world, pitch, world.chief, "chief-scientist")
        approve(world, pitch, world.head, "research-head")
        approve(world, pitch, world.ceo, "ceo")

    def test_a_pitch_above_the_share_gets_its_exception_with_the_last_signature(self, world, noon):
        self.sign_all(world, self.over(world))

        exception, grant = SplitException.objects.get(), Grant.objects.get()
        assert (exception.gpus, exception.state, exception.ends_at) == (20, "signed", grant.ends_at)
        assert exception.signatures.count() == 3
        own = queries.capacity_of(factories.model(), at=noon).divisions["research"]
        assert (own.debt.at(noon + DAY), own.share.at(noon + DAY), own.split_share.at(noon + DAY)) == (0, 80, 60)

    def test_it_is_over_with_a_grant_that_ends_early(self, world, noon, time_machine):
        self.sign_all(world, self.over(world))
        time_machine.move_to(noon + 2 * DAY, tick=False)
        grants.end_grant(grant=Grant.objects.get(), by=world.lead, reason="Done.")

        assert (
            queries.capacity_of(factories.model(), at=noon + 2 * DAY).divisions["research"].share.at(noon + 3 * DAY)
            == 60
        )

    def test_it_shrinks_with_its_grant(self, world, noon):
        """What a smaller grant gives back was signed for that pitch: nobody else is promised it above the share."""
        self.sign_all(world, self.over(world))
        for gpus, at in ((16, None), (8, noon + 5 * DAY)):
            grant = Grant.objects.get()
            both_sign(
                world,
                changes.ask_change(
                    grant=grant, by=world.chief, gpus=gpus, takes_effect_at=at, reason="The others wait."
                ),
            )

        own = queries.capacity_of(factories.model(), at=noon).divisions["research"]
        assert [own.share.at(noon + days * DAY) for days in (1, 6)] == [76, 68]

    def test_one_whose_last_signature_is_taken_back_is_no_signature_for_the_next(self, world, noon):
        pitch = self.over(world)
        self.sign_all(world, pitch)
        pitches.undo_sign_off(sign_off=pitch.sign_offs.get(role__slug="ceo"), by=world.ceo)

        approve(world, fresh(pitch), world.ceo, "ceo", gpus=70)
        for by, role in ((world.chief, "chief-scientist"), (world.head, "research-head")):
            approve(world, fresh(pitch), by, role)

        assert list(SplitException.objects.order_by("pk").values_list("gpus", "state")) == [
            (20, "withdrawn"),
            (10, "signed"),
        ]
        own = queries.capacity_of(factories.model(), at=noon).divisions["research"]
        assert (fresh(pitch).state, own.share.at(noon + DAY)) == ("granted", 70)

    def test_a_second_one_within_thirty_days_goes_to_all_who_sign_the_split(self, world, noon, time_machine):
        """Where one signs such pitches, two in a row are no way round those who sign the split."""
        policy(world, "pitch", "ceo", over_share=True, division=world.research)
        self.sign_all(world, pitches.submit_pitch(pitch=draft(world, gpus=70), by=world.pitcher))
        first = SplitException.objects.get()
        time_machine.move_to(first.ends_at + 20 * DAY, tick=False)
        start = first.ends_at.date() + 21 * DAY

        second = pitches.submit_pitch(pitch=draft(world, gpus=80, start_on=start), by=world.pitcher)
        self.sign_all(world, second)
        before = SplitException.objects.count()
        approve(world, second, world.ceo_apps, "ceo-applications")

        assert (before, [row.renews for row in SplitException.objects.order_by("pk")]) == (1, [None, first])

    def test_one_after_more_than_thirty_days_does_not(self, world, noon, time_machine):
        policy(world, "pitch", "ceo", over_share=True, division=world.research)
        self.sign_all(world, pitches.submit_pitch(pitch=draft(world, gpus=70), by=world.pitcher))
        start = SplitException.objects.get().ends_at.date() + 32 * DAY

        self.sign_all(world, pitches.submit_pitch(pitch=draft(world, gpus=80, start_on=start), by=world.pitcher))

        assert [row.renews for row in SplitException.objects.all()] == [None, None]

    def test_of_two_that_wait_side_by_side_the_later_is_sent_in_again(self, world, noon):
        policy(world, "pitch", "ceo", over_share=True, division=world.research)
        one = pitches.submit_pitch(pitch=draft(world, gpus=70), by=world.pitcher)
        later = (noon + 20 * DAY).date()
        other = pitches.submit_pitch(pitch=draft(world, gpus=80, start_on=later), by=world.pitcher)
        self.sign_all(world, one)

        with pytest.raises(WrongState):
            self.sign_all(world, other)

        assert (Grant.objects.count(), SplitException.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_both_heads_at_once_sign_it_once(world, monkeypatch):
    now = timezone.now()
    exception = propose(world, starts_at=now, ends_at=now + DAY)
    monkeypatch.setattr(exceptions.turns, "require_mandate", Window().after(exceptions.turns.require_mandate))

    rows = [fresh(exception), fresh(exception)]
    outcomes = at_once(
        lambda: exceptions.sign_exception(exception=rows[0], by=world.ceo),
        lambda: exceptions.sign_exception(exception=rows[1], by=world.ceo_apps),
    )

    assert kinds(outcomes) == ["SplitException", "SplitException"]
    assert (fresh(exception).state, fresh(exception).signatures.count()) == ("signed", 2)
