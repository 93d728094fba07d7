"""What is said to help does help: each help is tried out on the fleet."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings

from allocations.planner import Helps, Place, Short, Snapshot, Source, propose

from .fleets import LATER, NOW, SOON, fleets, need, needs, snapshot, unit

laws = settings(max_examples=200)


def later(fleet: Snapshot, at) -> Snapshot:
    """The fleet at that instant, if everybody has released as promised and nothing else has happened."""
    return replace(
        fleet,
        taken_at=at,
        units=tuple(
            replace(u, source=Source.ENDED) if u.source is Source.HELD and u.releases_at and u.releases_at <= at else u
            for u in fleet.units
        ),
    )


def helps(fleet, asked):
    found = propose(fleet, asked).why.shortfall
    return {help_.code: help_ for help_ in found.helps} if found else {}


@laws
@given(fleets(), needs)
def test_asking_for_what_can_be_had_gets_all_of_it(fleet, asked):
    smaller = helps(fleet, asked).get(Helps.ASK_FOR)

    if smaller:
        assert propose(fleet, replace(asked, gpus=smaller.gpus)).short == 0


@laws
@given(fleets(), needs)
def test_without_a_rule_it_gets_as_many_as_was_said_and_where_nothing_was_said_no_more(fleet, asked):
    proposal, told = propose(fleet, asked), helps(fleet, asked)

    if proposal.short:
        for code, rule in ((Helps.WITHOUT_WHOLE_NODES, "whole_nodes"), (Helps.WITHOUT_ONE_ISLAND, "one_island")):
            without = propose(fleet, replace(asked, **{rule: False}))
            assert len(without.picks) == (told[code].gpus if code in told else len(proposal.picks))


@laws
@given(fleets(), needs)
def test_waiting_until_the_date_gets_as_many_as_was_said_and_a_moment_earlier_does_not(fleet, asked):
    proposal, told = propose(fleet, asked), helps(fleet, asked)

    for code in (Helps.WAIT, Helps.FIRST_RELEASE):
        if code in told:
            then, before = told[code].at, told[code].at - timedelta(seconds=1)
            assert len(propose(later(fleet, then), asked).picks) == told[code].gpus
            early = len(propose(later(fleet, before), asked).picks)
            assert early < asked.gpus if code is Helps.WAIT else early == len(proposal.picks)
    assert (told[Helps.WAIT].gpus if Helps.WAIT in told else asked.gpus) == asked.gpus


@laws
@given(fleets(), needs)
def test_the_code_names_the_rule_without_which_all_would_be_found(fleet, asked):
    found = propose(fleet, asked).why.shortfall
    loose = propose(fleet, replace(asked, whole_nodes=False)).short == 0
    spread = propose(fleet, replace(asked, one_island=False)).short == 0
    anyhow = propose(fleet, replace(asked, whole_nodes=False, one_island=False)).short == 0

    if found and found.code not in (Short.UNEVEN_SIZE, Short.ALREADY_SPREAD):
        expected = {(True, False): Short.NO_WHOLE_NODES, (False, True): Short.NO_SINGLE_ISLAND}
        assert found.code == (expected.get((loose, spread), Short.NO_SUCH_SHAPE) if anyhow else Short.NOT_ENOUGH)


def test_a_number_that_is_no_sum_of_whole_nodes_is_said_with_its_neighbours():
    fleet = snapshot(unit(at, f"n{at // 8}", node_gpus=8) for at in range(32))

    proposal = propose(fleet, need(12, whole_nodes=True))

    found = proposal.why.shortfall
    assert (len(proposal.picks), proposal.short) == (8, 4)
    assert (found.code, found.node_sizes, found.next_lower_gpus, found.next_higher_gpus) == (
        Short.UNEVEN_SIZE,
        (8,),
        8,
        16,
    )
    assert {one.code: one.gpus for one in found.helps} == {Helps.ASK_FOR: 8, Helps.WITHOUT_WHOLE_NODES: 12}
    assert dict(proposal.why.skipped) == {"does_not_fit": 24}


def test_held_nodes_count_for_what_would_be_an_even_number():
    fleet = snapshot(
        [*(unit(at, "four", node_gpus=4) for at in range(4)), *(unit(at, "two", Source.HELD, "ada") for at in (8, 9))]
    )

    found = propose(fleet, need(6, whole_nodes=True)).why.shortfall

    assert (found.code, found.gpus) == (Short.NOT_ENOUGH, 2)


def test_a_grant_that_lies_on_two_islands_cannot_come_to_lie_on_one():
    places = (Place("x", "i1", "hall", 1), Place("y", "i2", "hall", 1))

    proposal = propose(snapshot([unit(1, "n1")]), need(1, one_island=True, already_on=places))

    assert (proposal.picks, proposal.why.shortfall.code) == ((), Short.ALREADY_SPREAD)
    assert dict(proposal.why.skipped) == {"other_island": 1}


def test_the_date_is_the_last_of_those_that_complete_the_need():
    fleet = snapshot(
        [
            unit(1, "n1"),
            unit(2, "n1", Source.HELD, "ada", releases_at=SOON),
            unit(3, "n2", Source.WINDING_DOWN, "bee", releases_at=LATER),
            unit(4, "n2", Source.WINDING_DOWN, "bee", releases_at=LATER),
        ]
    )

    def waits(asked):
        return [(one.code, one.gpus, one.at) for one in propose(fleet, asked).why.shortfall.helps if one.at]

    assert waits(need(2)) == [(Helps.WAIT, 2, SOON)]
    assert waits(need(3)) == [(Helps.WAIT, 3, LATER)]
    assert waits(need(2, whole_nodes=True)) == [(Helps.WAIT, 2, SOON)]
    assert waits(need(9)) == [(Helps.FIRST_RELEASE, 2, SOON)]


@pytest.mark.parametrize("gpus", range(1, 10))
def test_of_many_dates_it_is_the_first_that_is_enough(gpus):
    fleet = snapshot(
        unit(at, f"n{at}", Source.HELD, "ada", node_gpus=1, releases_at=NOW + timedelta(days=at)) for at in range(1, 10)
    )

    [told] = propose(fleet, need(gpus)).why.shortfall.helps

    assert (told.code, told.gpus, told.at) == (Helps.WAIT, gpus, NOW + timedelta(days=gpus))
