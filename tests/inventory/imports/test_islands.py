"""Grouping equal nodes into islands: stable under repeats, appended, removed and moved rows."""

import random

from inventory.imports.islands import LONGEST_BASE, Kind, group

H100 = Kind("hall", "H100", 8)
T4 = Kind("", "T4", 2)


def names(kind, count, start=0):
    return [(f"{kind.model}-{kind.gpus}-{number}", kind) for number in range(start, start + count)]


def test_equal_nodes_share_islands_of_the_size_asked_for():
    found = group([*names(H100, 5), *names(T4, 1), *names(Kind("hall", "H100", 4), 1)], [], size=2)

    assert list(found.values()) == [
        "hall H100 8x #1",
        "hall H100 8x #1",
        "hall H100 8x #2",
        "hall H100 8x #2",
        "hall H100 8x #3",
        "T4 2x #1",
        "hall H100 4x #1",
    ]


def test_appended_nodes_fill_the_last_island_and_then_open_the_next():
    before = group(names(T4, 3), [], size=2)

    after = group(names(T4, 3, start=3), [(island, T4) for island in before.values()], size=2)

    assert list(after.values()) == ["T4 2x #2", "T4 2x #3", "T4 2x #3"]


def test_grouping_in_portions_makes_the_same_islands_as_all_at_once():
    everyone, found, dice = names(T4, 50), {}, random.Random(4)
    while len(found) < len(everyone):
        portion = everyone[len(found) :][: dice.randint(1, 9)]
        found |= group(portion, [(island, T4) for island in found.values()], size=4)

    assert found == group(everyone, [], size=4)


def test_an_island_that_somebody_else_has_is_never_joined():
    settled = [("T4 2x #1", H100), ("T4 2x #2", T4), ("T4 2x #2", H100)]

    found = group(names(T4, 1), settled, size=4)

    assert list(found.values()) == ["T4 2x #3"]


def test_kinds_whose_long_names_are_cut_alike_stay_apart():
    kinds = [Kind("", "x" * LONGEST_BASE + end, 8) for end in ("a", "b")]

    found = group([("first", kinds[0]), ("second", kinds[1]), ("third", kinds[0])], [], size=64)

    assert found["first"] == found["third"] != found["second"]
    assert max(map(len, found.values())) <= 80
