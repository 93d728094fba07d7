"""Every code that a survey or an agent can report has its words and one sentence on what to do."""

import ast
from pathlib import Path

import pytest

from inventory import node_agent
from inventory.advice import ADVICE, OF_SILENCE, advice_for
from inventory.errors import NodeError
from inventory.node_agent.probe import faults, keeper, loading
from inventory.survey import severity

AGENT = Path(node_agent.__file__).parent
# What carries a code and its detail as two values of a tuple, or as the first two arguments.
CALLS = {"Fault", "_fail", "append", "_add"}


def _reported() -> set[str]:
    """The codes that stand in the source of the agent where faults are made, and those of its tables."""
    found = {*faults.CARD_ERRORS.values(), keeper.HUNG, keeper.DIED, *severity.OWN, *severity.OUT, *severity.NOTE}
    found |= {code for code, _detail in loading.INIT_FAULTS.values()}
    for path in [AGENT / "agent.py", *(AGENT / "probe").glob("*.py"), *(AGENT / "enforce").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            found.update(_codes(node))
    return found


def _codes(node: ast.AST) -> list[str]:
    values: list[ast.AST | None] = []
    if isinstance(node, ast.Yield | ast.Return):
        values = [node.value]
    elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in CALLS:
        values = [*node.args, ast.Tuple(elts=node.args)]
    elif isinstance(node, ast.List):
        values = list(node.elts)
    elif isinstance(node, ast.Assign) and any(getattr(target, "attr", "") == "against" for target in node.targets):
        values = [node.value]
    pairs = [value.elts for value in values if isinstance(value, ast.Tuple) and len(value.elts) >= 2]
    firsts = [pair[0].value for pair in pairs if isinstance(pair[0], ast.Constant) and isinstance(pair[0].value, str)]
    return [first for first in firsts if first.replace("_", "a").isalpha() and first.islower()]


# Pairs in that source which are no faults.
NO_FAULTS = {"number", "inode"}


def test_every_code_that_can_be_reported_has_a_sentence():
    reported = _reported() - NO_FAULTS

    assert {
        "unkillable_process",
        "probe_unkillable",
        "cards_missing",
        "no_pynvml",
        "not_looked_yet",
        "hung",
    } <= reported
    assert reported - ADVICE.keys() == set()


@pytest.mark.parametrize("code", [*ADVICE, *OF_SILENCE])
def test_it_is_one_short_sentence_in_plain_words(code):
    what, remedy = map(str, (ADVICE | OF_SILENCE)[code])

    assert (what[0].islower() or what.startswith("one UUID"), what[-1].isalpha(), len(what) <= 60) == (True, True, True)
    assert (remedy[-1], len(remedy) <= 110) == (".", True)


def test_xids_share_a_sentence_and_an_unknown_code_stands_for_itself():
    assert advice_for("xid_79") == advice_for("xid") == ADVICE["xid"]
    assert str(advice_for("new_fault").what) == "new fault"


def test_why_a_node_is_silent_says_what_to_do():
    assert advice_for("silent", "bad_token: gpu-1: no") == OF_SILENCE["bad_token"]
    assert advice_for("silent", "node_unreachable: gpu-1: no answer in time") == ADVICE["silent"]
    assert OF_SILENCE.keys() <= {error.code for error in NodeError.__subclasses__()}
