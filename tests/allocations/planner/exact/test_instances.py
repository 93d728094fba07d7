"""Public instances with proven optima: met exactly, judged by their own verifier."""

import importlib.util
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from allocations.planner.exact import BadInstance, read_problem, solve
from tests.shared import shared_data

NAMES = ["d01-tiny-single", "d02-traps", "d03-short", "d04-relocate-tiny", "d05-portfolio", "d06-mixed"]


def instance(name: str) -> dict:
    return json.loads((shared_data() / "planner" / f"{name}.json").read_text())


def verified(raw: dict, plan: dict) -> dict:
    spec = importlib.util.spec_from_file_location("verify", shared_data() / "planner" / "verify.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.evaluate(raw, plan)


def solved(tmp_path, raw: dict) -> tuple[dict, str]:
    file, out, said = tmp_path / "instance.json", tmp_path / "plan.json", StringIO()
    file.write_text(json.dumps(raw))
    call_command("solve_instance", str(file), out=out, stdout=said)
    return json.loads(out.read_text()), said.getvalue().strip()


@pytest.mark.parametrize("name", NAMES)
def test_the_objective_is_the_proven_optimum_or_the_shortfall_is_right(tmp_path, name):
    raw = instance(name)
    expected = raw["expected"]

    plan, said = solved(tmp_path, raw)

    if expected["status"] == "infeasible":
        unlocks = [row["project"] for row in expected["single_project_unlocks"]]
        assert plan == {"status": "infeasible", "short_nodes": expected["short_nodes"], "unlocks": sorted(unlocks)}
    else:
        found = verified(raw["instance"], plan)
        assert (found["ok"], found["errors"], found["objective"]) == (True, [], expected["objective"])
        assert said.startswith("optimal: ")


@pytest.mark.parametrize("name", NAMES)
def test_the_order_in_which_it_is_written_down_changes_nothing(tmp_path, name):
    raw = instance(name)["instance"]
    turned = {key: list(reversed(value)) if isinstance(value, list) else value for key, value in raw.items()}

    assert solve(read_problem(turned)) == solve(read_problem(raw))


@pytest.mark.parametrize(
    "change",
    [
        {"by": "soon"},
        {"nodes": None},
        {"grants": [{"node": "n0001", "project": "p999", "gpus": 1, "until": "2099-01-01"}]},
        {"grants": [{"node": "n0001", "project": "p001", "gpus": 9, "until": "2099-01-01"}]},
        {"requires": [["q1", "q99"]]},
        {"needs": [{"id": "q1"}]},
    ],
)
def test_what_is_no_instance_is_refused(change):
    with pytest.raises(BadInstance):
        read_problem(instance("d02-traps")["instance"] | change)


def test_a_file_that_is_no_json_is_refused_by_the_command(tmp_path):
    file = tmp_path / "x.json"
    file.write_text("{")

    with pytest.raises(CommandError):
        call_command("solve_instance", str(file), out=tmp_path / "plan.json")
