"""The laws of a plan, and the cases that people would ask about."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allocations.planner import Because, Pick, Place, Proposal, Snapshot, Source, propose, propose_all

from .fleets import LATER, NOW, SOON, fleets, may_take, need, needs, snapshot, unit

laws = settings(max_examples=150)


def ids(proposal: Proposal) -> list[int]:
    return [pick.gpu_id for pick in proposal.picks]


def applied(fleet: Snapshot, proposal: Proposal, asked) -> Snapshot:
    """The fleet after the plan: its GPUs are held under the grant."""
    picked = set(ids(proposal))
    return replace(
        fleet,
        units=tuple(
            replace(u, source=Source.HELD, holder=asked.project, grant_id=asked.grant_id) if u.gpu_id in picked else u
            for u in fleet.units
        ),
    )


class TestLaws:
    @laws
    @given(fleets(), needs)
    def test_never_more_than_the_need_and_never_what_may_not_be_taken(self, fleet, asked):
        """kai-scheduler/KAI-Scheduler PR#1565: 48 asked for, 376 disturbed."""
        proposal = propose(fleet, asked)

        units = {u.gpu_id: u for u in fleet.units}
        assert len(proposal.picks) + proposal.short == asked.gpus
        assert len(set(ids(proposal))) == len(proposal.picks)
        assert all(may_take(units[gpu_id], asked) for gpu_id in ids(proposal))

    @laws
    @given(fleets(), needs, st.randoms())
    def test_the_order_of_the_snapshot_changes_no_byte(self, fleet, asked, random):
        shuffled = replace(fleet, units=tuple(random.sample(fleet.units, len(fleet.units))))

        one, other = propose(fleet, asked), propose(shuffled, asked)

        assert one == other
        assert json.dumps(one.why.as_dict()) == json.dumps(other.why.as_dict())

    @laws
    @given(fleets(), needs)
    def test_asked_again_after_the_plan_was_applied_it_moves_nothing(self, fleet, asked):
        """kueue#3779."""
        first = propose(fleet, asked)

        second = propose(applied(fleet, first, asked), replace(asked, gpus=first.short))

        assert second.picks == ()

    @laws
    @given(fleets(), needs)
    def test_every_gpu_is_taken_or_has_a_reason_why_it_is_not(self, fleet, asked):
        proposal = propose(fleet, asked)

        assert sum(proposal.why.skipped.values()) + len(proposal.picks) == len(fleet.units)
        assert sum(taken.gpus for taken in proposal.why.taken) == len(proposal.picks)
        assert (proposal.why.shortfall.gpus if proposal.why.shortfall else 0) == proposal.short

    @laws
    @given(fleets(), needs, st.data())
    def test_freeing_a_held_gpu_never_makes_the_plan_smaller(self, fleet, asked, data):
        held = [u for u in fleet.units if u.source is Source.HELD and u.grant_id is None]
        freed = data.draw(st.sampled_from(held)) if held else None
        easier = replace(
            fleet, units=tuple(replace(u, source=Source.FREE, holder="") if u == freed else u for u in fleet.units)
        )

        assert propose(easier, asked).short <= propose(fleet, asked).short

    @laws
    @given(fleets(), needs)
    def test_a_rule_less_never_makes_the_plan_smaller(self, fleet, asked):
        short = propose(fleet, asked).short

        assert propose(fleet, replace(asked, whole_nodes=False)).short <= short
        assert propose(fleet, replace(asked, one_island=False)).short <= short
        assert propose(fleet, replace(asked, labels=frozenset())).short <= short
        assert propose(fleet, replace(asked, starts_at=LATER)).short <= short

    @laws
    @given(fleets(), needs)
    def test_a_single_gpu_is_free_if_one_is_free_ended_if_one_ended_and_promised_only_else(self, fleet, asked):
        one = replace(asked, gpus=1, whole_nodes=False, one_island=False)
        takeable = {u.gpu_id: u for u in fleet.units if may_take(u, one)}
        order = [Because.OWN_ENDED, Because.FREE, Because.GRANT_ENDED, Because.WINDING_DOWN]

        proposal = propose(fleet, one)

        def worth(source: Source, own: bool) -> Because:
            return Because.OWN_ENDED if own and source is Source.ENDED else order[list(Source).index(source) + 1]

        best = min((order.index(worth(u.source, u.holder == one.project)) for u in takeable.values()), default=None)
        assert [order.index(pick.why) for pick in proposal.picks] == ([] if best is None else [best])

    @laws
    @given(fleets(most_nodes=6), st.lists(needs, min_size=2, max_size=4))
    def test_several_needs_share_no_gpu_and_the_oldest_is_served_as_if_alone(self, fleet, asked):
        several = [replace(one, grant_id=100 + at) for at, one in enumerate(asked)]
        oldest = min(several, key=lambda one: (one.starts_at, one.grant_id))

        plans = propose_all(fleet, several)

        together = [gpu_id for plan in plans for gpu_id in ids(plan)]
        assert len(set(together)) == len(together)
        assert plans == propose_all(fleet, reversed(several))
        assert plans[0] == propose(fleet, oldest)
        assert sorted(plan.grant_id for plan in plans) == [one.grant_id for one in several]

    @laws
    @given(fleets(), needs)
    def test_the_why_is_plain_json(self, fleet, asked):
        told = propose(fleet, asked).why.as_dict()

        assert json.loads(json.dumps(told)) == told


class TestDonors:
    def test_the_free_one_and_one_of_the_ended_are_taken_and_nobody_else_is_disturbed(self):
        """kueue#533."""
        fleet = snapshot(
            [
                unit(1, "n1"),
                unit(2, "n1", Source.HELD, "ada"),
                unit(3, "n2", Source.ENDED, "bee"),
                unit(4, "n2", Source.ENDED, "bee"),
            ]
        )

        proposal = propose(fleet, need(2))

        assert proposal.picks == (
            Pick(1, Source.FREE, "", None, Because.FREE, None),
            Pick(3, Source.ENDED, "bee", None, Because.GRANT_ENDED, None),
        )
        assert dict(proposal.why.skipped) == {"held": 1, "not_needed": 1}

    def test_six_short_takes_six_and_not_three_hundred(self):
        """volcano-sh/volcano#4408."""
        fleet = snapshot(unit(at, f"n{at // 8}", Source.WINDING_DOWN, "ada", node_gpus=8) for at in range(300))

        assert len(propose(fleet, need(6)).picks) == 6

    def test_one_donor_with_enough_is_asked_and_not_two_with_idle_gpus(self):
        fleet = snapshot(
            [
                *(unit(at, f"a{at}", Source.ENDED, "ada", running=0) for at in (1, 2)),
                *(unit(at, f"b{at}", Source.ENDED, "bee", running=0) for at in (3, 4)),
                *(unit(at, f"c{at}", Source.ENDED, "cee", running=1) for at in (5, 6, 7)),
            ]
        )

        assert ids(propose(fleet, need(3))) == [5, 6, 7]
        assert ids(propose(fleet, need(2))) == [1, 2]

    def test_a_gpu_whose_processes_nobody_knows_counts_as_running(self):
        fleet = snapshot(
            [unit(1, "n1", Source.ENDED, "ada", running=None), unit(2, "n1", Source.ENDED, "ada", running=0)]
        )

        proposal = propose(fleet, need(1))

        assert ids(proposal) == [2]
        assert propose(fleet, need(2)).why.shape.running_gpus == 1

    def test_what_an_own_ended_grant_left_stays_where_it_is_instead_of_moving_to_free_gpus(self):
        fleet = snapshot([unit(1, "n1"), unit(2, "n2", Source.ENDED, "asking", grant_id=9, running=4)])

        proposal = propose(fleet, need(1))

        assert proposal.picks == (Pick(2, Source.ENDED, "asking", 9, Because.OWN_ENDED, None),)
        assert (proposal.why.shape.donors, proposal.why.shape.running_gpus) == (0, 0)

    def test_a_promise_for_later_is_not_taken_now_but_for_a_grant_that_starts_then(self):
        fleet = snapshot([unit(1, "n1", Source.WINDING_DOWN, "ada", releases_at=SOON)])

        assert propose(fleet, need(1)).picks == ()
        assert propose(fleet, need(1, starts_at=SOON)).picks == (
            Pick(1, Source.WINDING_DOWN, "ada", None, Because.WINDING_DOWN, SOON),
        )

    def test_winding_down_without_a_date_is_no_promise(self):
        fleet = snapshot([unit(1, "n1", Source.WINDING_DOWN, "ada", releases_at=None)])

        assert dict(propose(fleet, need(1)).why.skipped) == {"not_yet_released": 1}

    def test_a_project_that_winds_down_is_not_its_own_donor(self):
        fleet = snapshot([unit(1, "n1", Source.WINDING_DOWN, "asking", grant_id=8)])

        assert propose(fleet, need(1)).picks == ()

    @pytest.mark.parametrize("detail", ["cordoned", "lost", "stale", "ghost", "unknown", "protected"])
    def test_doubt_and_protection_free_nothing_and_are_named(self, detail):
        fleet = snapshot([unit(1, "n1", Source.UNUSABLE, detail=detail)])

        proposal = propose(fleet, need(1))

        assert (proposal.picks, dict(proposal.why.skipped)) == ((), {detail: 1})

    def test_no_gpu_of_another_model_and_none_without_the_labels(self):
        """volcano-sh/volcano#5881."""
        fleet = snapshot([unit(1, "n1", model="A100"), unit(2, "n2", labels=frozenset({"rack=1"})), unit(3, "n3")])

        proposal = propose(fleet, need(3, labels=frozenset({"rack=1"})))

        assert ids(proposal) == [2]
        assert dict(proposal.why.skipped) == {"other_model": 1, "other_labels": 1}


class TestShape:
    def test_a_small_need_fills_a_node_that_is_broken_up_already_and_fits_best(self):
        fleet = snapshot(
            [
                *(unit(at, "whole", node_gpus=4) for at in (1, 2, 3, 4)),
                *(unit(at, "three", node_gpus=4) for at in (5, 6, 7)),
                unit(8, "three", Source.HELD, "ada", node_gpus=4),
                *(unit(at, "two", node_gpus=4) for at in (9, 10)),
                *(unit(at, "two", Source.HELD, "ada", node_gpus=4) for at in (11, 12)),
            ]
        )

        assert ids(propose(fleet, need(2))) == [9, 10]
        assert ids(propose(fleet, need(3))) == [5, 6, 7]
        assert ids(propose(fleet, need(4))) == [1, 2, 3, 4]
        assert sorted(ids(propose(fleet, need(6)))) == [1, 2, 3, 4, 9, 10]

    def test_a_node_that_is_partly_the_grants_own_gives_a_part_before_a_whole_one_is_broken_up(self):
        fleet = snapshot(
            [
                unit(1, "own", Source.HELD, "asking", grant_id=1, node_gpus=3),
                *(unit(at, "own", node_gpus=3) for at in (2, 3)),
                *(unit(at, "free") for at in (4, 5)),
            ]
        )

        proposal = propose(fleet, need(3))

        assert ids(proposal) == [4, 5, 2]
        assert proposal.why.shape.broken_nodes == 0
        assert ids(propose(fleet, need(2))) == [2, 3]

    def test_one_island_is_kept_if_it_disturbs_nobody_more(self):
        fleet = snapshot(
            [
                *(unit(at, f"a{at // 2}", island="i1") for at in (2, 3)),
                *(unit(at, f"b{at // 2}", island="i2") for at in (4, 5, 6, 7)),
                *(unit(at, f"c{at // 2}", island="i3") for at in (8, 9, 10, 11, 12, 13)),
            ]
        )

        assert ids(propose(fleet, need(4))) == [4, 5, 6, 7]

    def test_the_rest_goes_beside_what_the_grant_has(self):
        fleet = snapshot(
            [
                unit(1, "a", island="i1"),
                unit(2, "b", island="i2"),
                unit(3, "b", Source.HELD, "asking", island="i2", grant_id=1),
            ]
        )

        assert ids(propose(fleet, need(1))) == [2]

    def test_one_island_means_the_island_on_which_the_grant_is_also_by_a_move_on_its_way(self):
        fleet = snapshot([*(unit(at, "a", island="i1") for at in (1, 2)), unit(3, "b", island="i2")])
        here = Place("b", "i2", "hall", 1)

        proposal = propose(fleet, need(2, one_island=True, already_on=(here,)))

        assert (ids(proposal), proposal.short) == ([3], 1)
        assert dict(proposal.why.skipped) == {"other_island": 2}

    def test_islands_of_one_name_on_two_sites_are_two(self):
        fleet = snapshot([unit(1, "a", site="hall"), unit(2, "b", site="annex")])

        assert propose(fleet, need(2, one_island=True)).short == 1

    def test_nodes_of_no_known_island_are_not_one_island(self):
        fleet = snapshot([unit(1, "a", island=""), unit(2, "b", island=""), unit(3, "b", island="")])

        assert ids(propose(fleet, need(2, one_island=True))) == [2, 3]

    def test_a_node_without_its_lost_card_is_whole_and_one_with_a_stale_card_is_not(self):
        fleet = snapshot(
            [
                *(unit(at, "seven", node_gpus=7) for at in range(1, 8)),
                unit(8, "seven", Source.UNUSABLE, node_gpus=7, detail="lost"),
                *(unit(at, "doubt", node_gpus=7) for at in range(11, 18)),
                unit(18, "doubt", Source.UNUSABLE, node_gpus=7, detail="stale"),
            ]
        )

        proposal = propose(fleet, need(7, whole_nodes=True))

        assert ids(proposal) == [1, 2, 3, 4, 5, 6, 7]
        assert dict(proposal.why.skipped) == {"lost": 1, "stale": 1, "node_fragment": 7}

    def test_the_missing_gpu_of_an_own_node_makes_it_whole(self):
        fleet = snapshot(
            [unit(1, "n1", Source.HELD, "asking", grant_id=1), unit(2, "n1"), unit(3, "n2"), unit(4, "n2")]
        )

        assert ids(propose(fleet, need(1, whole_nodes=True))) == [2]

    def test_a_gpu_that_is_on_its_way_to_the_grant_counts_for_its_node(self):
        fleet = snapshot([unit(1, "n1", Source.MOVING, "ada"), unit(2, "n1")])
        coming = Place("n1", "i1", "hall", 1)

        assert ids(propose(fleet, need(1, whole_nodes=True, already_on=(coming,)))) == [2]
        assert ids(propose(fleet, need(1, whole_nodes=True))) == []

    def test_a_lost_gpu_of_the_grant_does_not_stand_for_the_one_that_somebody_else_has(self):
        fleet = snapshot(
            [
                unit(1, "n1", Source.UNUSABLE, "asking", grant_id=1, detail="lost"),
                unit(2, "n1"),
                unit(3, "n1", Source.HELD, "ada"),
            ]
        )
        told = Place("n1", "i1", "hall", 1)

        assert propose(fleet, need(1, whole_nodes=True, already_on=(told,))).picks == ()

    def test_of_two_islands_the_one_with_fewer_donors_is_taken(self):
        fleet = snapshot(
            [
                unit(1, "a1", Source.ENDED, "ada", island="i1", node_gpus=1),
                unit(2, "a2", Source.ENDED, "bee", island="i1", node_gpus=1),
                *(unit(at, f"b{at}", Source.ENDED, "cee", island="i2", node_gpus=1) for at in (4, 5, 6)),
            ]
        )

        assert propose(fleet, need(2, one_island=True)).why.shape.donors == 1
        assert {pick.from_holder for pick in propose(fleet, need(2)).picks} == {"cee"}

    def test_a_node_with_a_card_of_another_model_is_not_whole_without_it(self):
        fleet = snapshot([unit(1, "n1"), unit(2, "n1", model="A100")])

        assert propose(fleet, need(1, whole_nodes=True)).picks == ()

    def test_two_whole_nodes_of_one_donor_rather_than_of_two(self):
        fleet = snapshot(
            [
                *(unit(at, f"a{at // 2}", Source.ENDED, "ada") for at in (2, 3)),
                *(unit(at, f"b{at // 2}", Source.ENDED, "bee") for at in (4, 5, 6, 7)),
                *(unit(at, f"c{at // 2}", Source.ENDED, "cee") for at in (8, 9)),
            ]
        )

        proposal = propose(fleet, need(4, whole_nodes=True))

        assert ids(proposal) == [4, 5, 6, 7]
        assert (proposal.why.shape.donors, proposal.why.shape.fewest_donors) == (1, True)

    def test_many_small_donors_do_not_stop_the_search_for_few_large_ones(self):
        small = [unit(at, f"s{at}", Source.ENDED, f"small-{at}") for at in range(60)]
        large = [unit(100 + at, f"l{at}", Source.ENDED, f"large-{at % 3}") for at in range(60)]

        proposal = propose(snapshot([*small, *large]), need(41))

        assert (proposal.why.shape.donors, proposal.why.shape.fewest_donors) == (3, True)


class TestSnapshot:
    def test_a_gpu_that_stands_there_twice_is_refused(self):
        with pytest.raises(ValueError, match="twice"):
            snapshot([unit(1, "n1"), unit(1, "n2")])

    def test_a_need_that_misses_nothing_gets_an_empty_plan_without_a_shortfall(self):
        proposal = propose(snapshot([unit(1, "n1")]), need(0))

        assert (proposal.picks, proposal.short, proposal.why.shortfall) == ((), 0, None)

    def test_an_empty_fleet_is_short_of_everything(self):
        proposal = propose(snapshot([]), need(3, whole_nodes=True, one_island=True))

        assert (proposal.short, proposal.why.shortfall.code, proposal.why.shortfall.helps) == (3, "not_enough", ())

    def test_a_donor_is_told_by_what_its_readings_and_promises_say(self):
        fleet = snapshot(
            [
                unit(1, "n1", Source.WINDING_DOWN, "ada", grant_id=5, running=2, seen_age_s=40.0),
                unit(
                    2,
                    "n2",
                    Source.WINDING_DOWN,
                    "ada",
                    grant_id=4,
                    seen_age_s=10.0,
                    releases_at=NOW - timedelta(hours=1),
                ),
            ]
        )

        [taken] = propose(fleet, need(2)).why.as_dict()["taken"]

        assert taken == {
            "source": "winding_down",
            "holder": "ada",
            "code": "winding_down",
            "gpus": 2,
            "running_gpus": 1,
            "nodes": 2,
            "grants": [4, 5],
            "oldest_seen_s": 40.0,
            "releases_at": "2026-12-01T09:00:00+00:00",
        }
