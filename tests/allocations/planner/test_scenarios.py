"""Scenarios with golden plans: a change of the planner shows as a difference that somebody reads."""

import json

import pytest

from . import golden


@pytest.mark.parametrize("path", golden.paths(), ids=lambda path: path.stem)
def test_the_plans_are_the_golden_ones(path):
    fleet, needs, plans = golden.read(path)

    assert json.loads(json.dumps(golden.plans(fleet, needs))) == plans


def test_there_is_a_scenario_for_each_kind_of_case():
    assert len(golden.paths()) == 10
