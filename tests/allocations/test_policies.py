"""Policies: which rows fit an ask, in which order and by when roles sign, the fast lane and asks above the share."""

from datetime import UTC, date, datetime, timedelta

import pytest

from allocations import pitches, queries
from allocations.errors import NobodyToSign, OverCapacity, OverShare
from allocations.models import Holiday, Pitch, PitchRole, Policy, PolicyRole, Role
from allocations.queries import policies
from inventory.models import Event
from tests import factories
from tests.allocations import acts
from tests.races import Window, at_once, kinds

pytestmark = pytest.mark.django_db


def policy(*roles: str, **fields) -> Policy:
    """A row for pitches, in force since long ago; `roles` are slugs, or pairs of slug and position."""
    row = Policy.objects.create(**{"subject": "pitch", "during": (factories.LONG_AGO, None), **fields})
    for each in roles:
        slug, position = (each, 0) if isinstance(each, str) else each
        PolicyRole.objects.create(policy=row, role=Role.objects.get(slug=slug), position=position)
    return row


def only(*roles: str, **fields) -> Policy:
    """The one row that the lab has for pitches."""
    Policy.objects.filter(subject="pitch").delete()
    return policy(*roles, **fields)


def signers(lab, *, gpus=32, days=14, **also) -> list[str]:
    signing = queries.signing_of(division=lab.research, gpus=gpus, days=days, **also)
    return sorted(role.slug for role in signing.roles)


class TestWhichRowsFit:
    @pytest.mark.parametrize(
        ("fields", "fits"),
        [
            ({"max_gpus": 32}, True),
            ({"max_gpus": 31}, False),
            ({"max_gpu_hours": 10_752}, True),  # 32 GPUs for 14 days
            ({"max_gpu_hours": 10_751}, False),
            ({"max_gpus": 32, "max_gpu_hours": 10_751}, False),
            ({"min_gpus": 33}, False),
            ({"min_gpus": 33, "min_gpu_hours": 10_752}, True),
            ({"min_gpus": 33, "min_gpu_hours": 10_753}, False),
            ({"over_share": True}, False),
            ({"is_fast_lane": True, "cap_gpu_hours": 1}, False),
            ({"during": (datetime(2027, 3, 1, 12, tzinfo=UTC), None)}, True),
            ({"during": (datetime(2027, 3, 1, 12, 0, 1, tzinfo=UTC), None)}, False),
            ({"during": (factories.LONG_AGO, datetime(2027, 3, 1, 12, tzinfo=UTC))}, False),
        ],
    )
    def test_a_row_holds_in_its_range_and_its_time(self, lab, noon, fields, fits):
        only("ceo", **fields)

        assert signers(lab) == (["ceo"] if fits else [])

    def test_a_row_that_names_nobody_counts_for_nothing_and_lets_nothing_through(self, world, noon):
        only()
        policy(is_fast_lane=True, cap_gpu_hours=1_000_000)

        with pytest.raises(NobodyToSign):
            acts.submit(world)

        assert Pitch.objects.get().state == "draft"

    def test_of_several_rows_a_role_signs_last_and_answers_soonest(self, lab, noon):
        only("chief-scientist", ("ceo", 1), due_working_days=5)
        policy("ceo", due_working_days=2, escalates_to=Role.objects.get(slug="ceo-applications"))

        said = {
            each.role.slug: (each.position, each.due_working_days, str(each.escalates_to), len(each.because))
            for each in queries.signing_of(division=lab.research, gpus=8, days=14).needed
        }

        assert said == {"chief-scientist": (0, 5, "None", 1), "ceo": (1, 2, "CEO of applications", 2)}

    def test_rows_cost_the_same_queries_whether_there_are_one_or_three(self, lab, noon, django_assert_num_queries):
        only("ceo", due_working_days=1, escalates_to=Role.objects.get(slug="ceo"))
        with django_assert_num_queries(2):
            signers(lab)
        policy("chief-scientist", "research-head")
        policy("ceo-applications", escalates_to=Role.objects.get(slug="ceo"))
        with django_assert_num_queries(2):
            signers(lab)


class TestFrozen:
    def test_order_due_time_and_who_is_told_then_are_frozen_into_the_pitch(self, world, noon):
        Holiday.objects.create(on=date(2027, 3, 2), name="Offsite", division=world.research)
        only(("research-head", 0), ("chief-scientist", 0), ("ceo", 1), due_working_days=3, counts_from="delivery",
             escalates_to=Role.objects.get(slug="ceo-applications"))  # fmt: skip
        pitch = acts.submit(world)  # Monday noon
        Policy.objects.update(due_working_days=1, counts_from="start")

        rows = {row.role.slug: (row.position, row.due_at, row.escalates_to.slug) for row in pitch.needed_roles.all()}

        first, last = datetime(2027, 3, 5, 12, tzinfo=UTC), datetime(2027, 3, 10, 12, tzinfo=UTC)
        assert rows == {
            "research-head": (0, first, "ceo-applications"),
            "chief-scientist": (0, first, "ceo-applications"),
            "ceo": (1, last, "ceo-applications"),
        }
        assert (Pitch.objects.get().counts_from, pitch.is_over_share, pitch.is_fast_lane) == ("delivery", False, False)

    def test_without_days_nothing_falls_due(self, world, noon):
        only("ceo")

        assert acts.submit(world).needed_roles.get().due_at is None


class TestAboveTheShare:
    """Research may promise 60 of the 100 H100."""

    def test_without_such_a_row_it_is_refused_as_ever(self, world, noon):
        with pytest.raises(OverShare):
            acts.submit(world, gpus=61)

    def test_with_such_a_row_it_waits_for_those_roles_too_and_is_marked(self, world, noon):
        policy("ceo", "ceo-applications", over_share=True)

        within, above = acts.submit(world, gpus=60), acts.submit(world, gpus=61)

        slugs = [sorted(pitch.roles.values_list("slug", flat=True)) for pitch in (within, above)]
        research = ["chief-scientist", "research-head"]
        assert slugs == [research, sorted([*research, "ceo", "ceo-applications"])]
        assert [Pitch.objects.get(pk=pitch.pk).is_over_share for pitch in (within, above)] == [False, True]
        facts = Event.objects.filter(verb="pitch.submitted").order_by("pk").values_list("facts__over_share", flat=True)
        assert list(facts) == [False, True]

    def test_a_row_for_larger_asks_lets_no_smaller_one_through(self, world, noon):
        policy("ceo", over_share=True, min_gpus=62)

        with pytest.raises(OverShare):
            acts.submit(world, gpus=61)

    def test_no_row_lets_more_through_than_there_is(self, world, noon):
        policy("ceo", over_share=True)
        factories.grant(world.applied_project, gpus=30, starts_at=noon)

        with pytest.raises(OverCapacity) as refused:
            acts.submit(world, gpus=71)

        assert refused.value.facts["left_gpus"] == 70
        assert acts.submit(world, gpus=70).is_over_share

    def test_it_takes_no_fast_lane(self, world, noon):
        policy("ceo", over_share=True)
        policy("ceo", is_fast_lane=True, cap_gpu_hours=10_000_000)

        assert not acts.submit(world, gpus=61).is_fast_lane


class TestFastLane:
    """16 GPUs for a day are 384 GPU-hours."""

    @pytest.fixture
    def lane(self, world, noon):
        return policy("research-head", is_fast_lane=True, max_gpus=16, cap_gpu_hours=800)

    def small(self, lab, **changes):
        return acts.submit(lab, **{"gpus": 16, "days": 1, **changes})

    def test_its_roles_alone_sign_until_the_project_has_had_its_cap(self, world, lane):
        taken = [self.small(world) for _ask in range(3)]

        assert [pitch.is_fast_lane for pitch in taken] == [True, True, False]
        assert [pitch.roles.count() for pitch in taken] == [1, 1, 2]
        assert Pitch.objects.get(pk=taken[0].pk).is_fast_lane

    def test_an_ask_beyond_its_range_goes_the_usual_way(self, world, lane):
        assert not self.small(world, gpus=17).is_fast_lane

    def test_another_project_has_a_cap_of_its_own(self, world, lane):
        for _ask in range(2):
            self.small(world)
        other = factories.project("other", division=world.research)

        assert self.small(world, project=other, by=other.lead).is_fast_lane

    def test_what_was_declined_or_taken_back_gives_its_hours_back(self, world, lane):
        first, second = self.small(world), self.small(world)
        pitches.withdraw_pitch(pitch=first, by=world.pitcher)
        acts.decline(world, second, world.head, "research-head")

        assert [self.small(world).is_fast_lane for _ask in range(3)] == [True, True, False]

    def test_the_next_month_of_the_site_begins_anew(self, world, lane, time_machine, settings):
        settings.SITE_TIME_ZONE = "Pacific/Auckland"
        for _ask in range(2):
            self.small(world, start_on=date(2027, 4, 10))
        new_month = datetime(2027, 3, 31, 11, tzinfo=UTC)  # midnight there, thirteen hours ahead
        time_machine.move_to(new_month - timedelta(seconds=1), tick=False)
        before = self.small(world, start_on=date(2027, 4, 10))
        time_machine.move_to(new_month, tick=False)

        assert (before.is_fast_lane, self.small(world, start_on=date(2027, 4, 10)).is_fast_lane) == (False, True)


@pytest.mark.django_db(transaction=True)
def test_two_asks_at_once_do_not_pass_the_cap_together(world, noon, monkeypatch):
    policy("research-head", is_fast_lane=True, max_gpus=16, cap_gpu_hours=400)
    drafts = [acts.draft(world, gpus=16, days=1) for _ask in range(2)]
    window = Window()
    monkeypatch.setattr(policies, "fast_lane_gpu_hours", window.after(policies.fast_lane_gpu_hours))

    outcomes = at_once(*(lambda pitch=pitch: pitches.submit_pitch(pitch=pitch, by=world.pitcher) for pitch in drafts))

    assert (kinds(outcomes), window.met) == (["Pitch", "Pitch"], False)
    assert sorted(Pitch.objects.values_list("is_fast_lane", flat=True)) == [False, True]
    assert PitchRole.objects.count() == 3
