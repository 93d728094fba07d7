"""The fewest labels that suffice: exact while the looks last, and nobody idle after that."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from allocations.planner.fewest import Looks, Question, fewest

LABELS = "abcdefgh"
sets = st.lists(st.frozensets(st.sampled_from(LABELS), min_size=1, max_size=4), min_size=1, max_size=4)


def question(enough: list[frozenset[str]], labels: str = LABELS, looks: int = 1) -> Question[str]:
    """Any of the sets suffices; the value is how many letters of the alphabet come before the first label."""

    def value(chosen: frozenset[str]) -> int | None:
        return ord(min(chosen)) if any(one <= chosen for one in enough) else None

    return Question(labels, frozenset(labels), value, {}, 0, looks)


@given(sets)
def test_while_the_looks_last_it_is_the_smallest_set_and_of_those_the_one_of_least_value(enough):
    asked = question(enough)

    chosen, proven = fewest(asked, Looks())

    every = (frozenset(some) for size in range(9) for some in combinations(LABELS, size))
    best = min((len(some), asked.value(some)) for some in every if asked.value(some) is not None)
    assert ((len(chosen), asked.value(chosen)), proven) == (best, True)


@given(sets)
def test_with_few_looks_it_suffices_and_nobody_could_be_left_out_alone(enough):
    asked = question(enough, looks=15_001)  # dearer than what may be spent on trying sets

    chosen, _ = fewest(asked, Looks(15_001 * 100))

    assert asked.value(chosen) is not None
    assert all(asked.value(chosen - {label}) is None for label in chosen)


@given(sets)
def test_without_looks_it_is_what_it_began_with_and_claims_nothing(enough):
    asked = question(enough)

    assert fewest(asked, Looks(0)) == (asked.start, False)


def test_weights_prove_that_fewer_cannot_do():
    def value(chosen: frozenset[str]) -> int | None:
        return 0 if sum(weight[label] for label in chosen) >= 9 else None

    weight = dict(zip(LABELS, [5, 4, 3, 3, 2, 1, 1, 1], strict=True))
    asked = Question(LABELS, frozenset(LABELS), value, weight, 9, 15_001)

    assert fewest(asked, Looks(15_001 * 100)) == (frozenset("ab"), True)
