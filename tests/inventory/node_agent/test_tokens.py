"""The portal's tokens on the node: digests on disk, the old one good until the new one was used."""

import json

import pytest

from inventory.node_agent import tokens as module
from inventory.node_agent.tokens import Tokens, first_token


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "state" / "tokens.json"
    first_token(path, "first")
    return path


def accepted(path, *names: str) -> list[bool]:
    """What an agent that has just started says to each."""
    return [Tokens(path).accept(f"Bearer {name}") for name in names]


def test_only_the_portals_token_is_accepted(path):
    headers = ["Bearer first", "Bearer second", "first", "Basic first", "Bearer ", "", "Bearer \ud800"]

    assert [Tokens(path).accept(header) for header in headers] == [True, *[False] * 6]


def test_the_old_token_is_good_until_the_new_one_was_used_also_over_a_restart(path):
    Tokens(path).expect("second")

    assert accepted(path, "first", "first", "second", "first", "second") == [True, True, True, False, True]


def test_a_new_token_that_was_never_used_gives_way_to_a_later_one(path):
    for token in ("second", "third"):
        Tokens(path).expect(token)

    assert accepted(path, "second", "third", "first") == [False, True, False]


def test_to_be_told_the_token_in_force_again_changes_nothing(path):
    Tokens(path).expect("second")
    Tokens(path).accept("Bearer second")

    Tokens(path).expect("second")

    assert accepted(path, "second", "first", "second") == [True, False, True]


def test_no_token_stands_on_disk(path):
    Tokens(path).expect("second")

    assert [name in path.read_text() for name in ("first", "second")] == [False, False]
    assert all(len(digest) == 64 for digest in json.loads(path.read_text()).values())


@pytest.mark.parametrize("step", range(3))
def test_wherever_the_agent_dies_the_token_that_the_portal_has_is_good(path, monkeypatch, step):
    steps = iter(range(9))

    def dying(where, body, on_step):
        def die(_step):
            if next(steps) == step:
                raise SystemExit

        durably(where, body, die)

    durably = module.write_durably
    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(module, "write_durably", dying)
        Tokens(path).expect("second")
    assert accepted(path, "first") == [True]

    Tokens(path).expect("second")
    steps = iter(range(9))
    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(module, "write_durably", dying)
        Tokens(path).accept("Bearer second")

    assert accepted(path, "second") == [True]


@pytest.mark.parametrize("torn", ["", "{", "[]", '{"now": "x"}', "null"])
def test_a_torn_file_is_no_open_door(path, torn):
    path.write_text(torn)

    with pytest.raises((ValueError, KeyError, TypeError)):
        Tokens(path)
