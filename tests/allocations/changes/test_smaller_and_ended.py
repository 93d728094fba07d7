"""Making a running grant smaller or ending it is a decision with signatures, notice and the lead's answer."""

from datetime import timedelta

import pytest

from allocations import changes, grants, planner, queries
from allocations.errors import BadTerms, NotAllowed, OverShare, Stale
from allocations.models import GrantChange, GrantSize, Pitch, Split
from allocations.queries.record import record_of_project
from inventory.models import Event, UsageDay
from tests import factories
from tests.allocations.acts import submit, told, verbs
from tests.allocations.changes.acts import ask, both_sign, policy, sign

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

DAY = timedelta(days=1)


def fresh(row):
    return type(row).objects.get(pk=row.pk)


def shrink(world, grant, gpus=8, **more):
    return changes.ask_change(grant=grant, **{"by": world.chief, "gpus": gpus, "reason": "The others wait.", **more})


def end(world, grant, **more):
    return shrink(world, grant, gpus=None, **more)


class TestAsking:
    @pytest.mark.parametrize("login", ["lead", "pitcher", "ops", "stranger", "ceo-applications", "admin"])
    def test_only_deciders_of_the_division_ask(self, world, grant, login):
        with pytest.raises(NotAllowed):
            shrink(world, grant, by=world.everyone[login])

    def test_the_lead_and_those_who_sign_are_told(self, world, grant):
        shrink(world, grant)

        assert told("change.asked") == ["lead", "research-head"]

    def test_it_has_policies_of_its_own(self, world, grant):
        policy(world, "change", "ceo", division=world.research)

        assert [role.slug for role in end(world, grant).roles.all()] == ["ceo"]

    @pytest.mark.parametrize("gpus", [0, 32, 40])
    def test_smaller_is_fewer_and_some(self, world, grant, gpus):
        with pytest.raises(BadTerms):
            shrink(world, grant, gpus=gpus)

    def test_its_day_lies_in_the_time_that_is_left(self, world, grant, noon):
        for at in (noon - DAY, noon + 14 * DAY):
            with pytest.raises(BadTerms):
                end(world, grant, takes_effect_at=at)


class TestTheLead:
    def test_an_objection_has_a_reason_and_reaches_those_who_sign(self, world, grant):
        change = shrink(world, grant)
        with pytest.raises(BadTerms):
            changes.answer_change(change=change, by=world.lead, answer="objects")
        changes.answer_change(change=change, by=world.lead, answer="objects", reason="The run ends in two days.")
        changes.answer_change(change=change, by=world.lead, answer="objects", reason="The run ends in two days.")

        assert (fresh(change).lead_answer, fresh(change).lead_reason) == ("objects", "The run ends in two days.")
        assert told("change.answered") == ["chief-scientist", "research-head"]
        assert fresh(change).state == "asked"  # it decides nothing

    def test_nobody_answers_for_the_lead(self, world, grant):
        change = shrink(world, grant)

        with pytest.raises(NotAllowed):
            changes.answer_change(change=change, by=world.pitcher, answer="agrees")


class TestTakingEffect:
    def test_fewer_gpus_refill_the_capacity_with_the_last_signature(self, world, grant):
        with pytest.raises(OverShare):
            submit(world, gpus=52)

        both_sign(world, shrink(world, grant))

        assert fresh(grant).gpus == 8
        submit(world, gpus=52)

    def test_fewer_from_a_later_day_are_free_from_that_day_before_the_clock_has_written_it(
        self, world, grant, noon, time_machine
    ):
        change = shrink(world, grant, takes_effect_at=noon + 5 * DAY)
        both_sign(world, change)
        assert fresh(grant).gpus == 32

        def room(gpus, start, end):
            grants.require_room(project=world.project, model=grant.model, gpus=gpus, starts_at=start, ends_at=end)

        room(52, noon + 5 * DAY, noon + 9 * DAY)
        with pytest.raises(OverShare):
            room(52, noon + 4 * DAY, noon + 9 * DAY)
        time_machine.move_to(noon + 5 * DAY, tick=False)
        changes.tend()
        changes.tend()
        assert (fresh(grant).gpus, verbs(grant)) == (8, ["grant.shrunk"])
        room(52, noon + 5 * DAY, noon + 9 * DAY)

    def test_an_end_is_free_for_planning_at_once(self, world, grant, noon):
        """TensorHive#324."""
        both_sign(world, end(world, grant))

        row = fresh(grant)
        assert (row.ends_at, row.ended_at, row.ended_by) == (noon, noon, world.head)
        submit(world, gpus=60)

    def test_an_end_on_a_later_day_keeps_the_promise_until_then(self, world, grant, noon):
        both_sign(world, end(world, grant, takes_effect_at=noon + 3 * DAY))

        assert (fresh(grant).ends_at, fresh(grant).ended_at) == (noon + 3 * DAY, noon)

    def test_two_different_changes_at_once_lose_neither(self, world, grant, noon):
        """Seen on ColdFront 1.1.10: a change of one field wrote back the other."""
        longer, smaller = ask(world, grant), shrink(world, grant)
        sign(world, longer, world.chief)
        sign(world, smaller, world.chief)
        sign(world, smaller, world.head)
        sign(world, longer, world.head)

        assert (fresh(grant).gpus, fresh(grant).ends_at) == (8, noon + 44 * DAY)

    def test_what_has_ended_meanwhile_is_not_made_smaller(self, world, grant):
        change = shrink(world, grant)
        sign(world, change, world.chief)
        grants.end_grant(grant=fresh(grant), by=world.lead, reason="Done.")

        with pytest.raises(Stale):
            sign(world, change, world.head)

        assert GrantChange.objects.get().state == "withdrawn"
        assert not Event.objects.filter(verb="change.approved").exists()


class TestThePast:
    """A smaller grant is smaller from its instant on; what it promised until then can still be read."""

    @pytest.fixture
    def sixteen(self, world, noon):
        pitch = factories.pitch(
            world.project, world.pitcher, state=Pitch.State.GRANTED, gpus=16, decided_by=world.chief, decided_at=noon
        )
        return factories.grant(world.project, gpus=16, pitch=pitch, starts_at=noon, ends_at=noon + 14 * DAY)

    def hours(self, world):
        return record_of_project(world.project).promised_hours

    def test_the_record_counts_each_day_at_the_size_it_had(self, world, sixteen, noon, time_machine):
        time_machine.move_to(noon + 5 * DAY, tick=False)
        both_sign(world, shrink(world, sixteen))
        time_machine.move_to(noon + 20 * DAY, tick=False)

        assert list(GrantSize.objects.values_list("grant", "gpus", "until")) == [(sixteen.pk, 16, noon + 5 * DAY)]
        assert self.hours(world) == 24 * (16 * 5 + 8 * 9)

    def test_hours_of_several_models_count_by_the_weights_in_force(self, world, sixteen, noon, time_machine):
        a100 = factories.model("A100")
        Split.objects.get().weights.create(model=a100, weight="0.5")
        pitch = factories.pitch(
            world.project, state=Pitch.State.GRANTED, decided_by=world.chief, decided_at=noon, model=a100
        )
        factories.grant(world.project, gpus=10, model=a100, pitch=pitch, starts_at=noon, ends_at=noon + 14 * DAY)
        card = factories.fleet(a100, gpus=1)[0]
        UsageDay.objects.create(on=noon.date(), gpu=card, holder=world.project.slug, busy_s=7200, idle_s=3600)
        time_machine.move_to(noon + 2 * DAY, tick=False)

        record = record_of_project(world.project)

        assert (record.promised_hours, record.unit) == (48 * (16 + 5), "H100")
        assert (record.busy_hours, record.held_hours, record.busy_pct) == (1, 1, 100)

    @pytest.mark.parametrize("clock_days", [6, 9])
    def test_a_clock_that_runs_late_writes_the_instant_that_was_signed(
        self, world, sixteen, noon, time_machine, clock_days
    ):
        both_sign(world, shrink(world, sixteen, gpus=8, takes_effect_at=noon + 8 * DAY))
        both_sign(world, shrink(world, sixteen, gpus=12, takes_effect_at=noon + 5 * DAY))
        for day in (clock_days, 10):
            time_machine.move_to(noon + day * DAY, tick=False)
            changes.tend()

        assert fresh(sixteen).gpus == 8
        assert list(GrantSize.objects.values_list("gpus", "until")) == [(16, noon + 5 * DAY), (12, noon + 8 * DAY)]
        assert self.hours(world) == 24 * (16 * 5 + 12 * 3 + 8 * 2)

    def test_two_that_begin_on_one_instant_leave_one_size_before_it(self, world, sixteen, noon, time_machine):
        for gpus in (12, 8):
            both_sign(world, shrink(world, sixteen, gpus=gpus, takes_effect_at=noon + 5 * DAY))
        time_machine.move_to(noon + 6 * DAY, tick=False)
        changes.tend()

        assert list(GrantSize.objects.values_list("gpus", "until")) == [(16, noon + 5 * DAY)]
        assert (fresh(sixteen).gpus, self.hours(world)) == (8, 24 * (16 * 5 + 8))

    def test_late_days_and_the_delivery_are_told_by_the_size_of_then(self, world, sixteen, noon, time_machine):
        Pitch.objects.update(min_gpus=16)
        for card, day in zip(factories.fleet(gpus=16), [1] * 8 + [3] * 8, strict=True):
            factories.holding(card, world.project, grant=sixteen, since=noon + day * DAY)
        time_machine.move_to(noon + 5 * DAY, tick=False)
        both_sign(world, shrink(world, sixteen))

        assert queries.delivered_at(fresh(sixteen)) == noon + 3 * DAY
        assert queries.late_gpu_days([fresh(sixteen)])[sixteen.pk] == 16 + 2 * 8


def test_gpus_above_a_smaller_grant_are_a_donor_and_the_rest_stay(world, grant):
    cards = factories.fleet(gpus=32)
    for card in cards:
        factories.assignment(card, world.project, grant=grant)
        factories.reading(card, world.project.slug, running=1)
    factories.reading(cards[5], world.project.slug, running=0)
    both_sign(world, shrink(world, grant, gpus=31))

    units = {unit.gpu_id: unit.source for unit in queries.build_snapshot().units}

    assert units[cards[5].pk] is planner.Source.ENDED
    assert sum(source is planner.Source.HELD for source in units.values()) == 31
