"""The planner against an oracle that looks at every set of GPUs of a tiny fleet."""

from hypothesis import given, settings

from allocations.planner import propose

from .fleets import Oracle, fleets, needs

thorough = settings(max_examples=400)


@thorough
@given(fleets(), needs)
def test_a_plan_obeys_every_rule_and_none_is_larger_kinder_or_disturbs_fewer(fleet, asked):
    oracle = Oracle(fleet, asked)

    proposal = propose(fleet, asked)

    units = oracle.chosen(proposal)
    assert [pick.gpu_id for pick in proposal.picks] == [u.gpu_id for u in sorted(units, key=lambda u: _place(u))]
    assert oracle.obeys(units)
    assert oracle.rank(units) == oracle.best()[0]


@thorough
@given(fleets(most_nodes=4), needs)
def test_of_plans_that_disturb_equally_it_takes_one_on_the_fewest_new_islands(fleet, asked):
    oracle = Oracle(fleet, asked)

    proposal = propose(fleet, asked)

    assert oracle.shape(oracle.chosen(proposal))[0] == oracle.best()[1][0]


@thorough
@given(fleets(most_nodes=4), needs)
def test_on_one_new_island_it_breaks_up_as_few_free_nodes_as_can_be(fleet, asked):
    oracle = Oracle(fleet, asked)

    proposal = propose(fleet, asked)

    islands, broken = oracle.shape(oracle.chosen(proposal))
    if islands <= 1:
        assert broken == oracle.best()[1][1]


def _place(unit):
    return (unit.site, unit.island, unit.node, unit.gpu_id)
