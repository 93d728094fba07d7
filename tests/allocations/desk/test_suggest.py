"""The suggested set against all sets there are."""

import random
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from allocations.desk import Ask, suggest
from allocations.desk import suggest as suggest_now
from tests.allocations.desk.cases import Case, desks


def _fits(case: Case, gpus: dict[str, int]) -> bool:
    return all(
        sum(gpus.get(ask.key, 0) for ask in case.asks if ask.first <= at < ask.last) <= max(0, free)
        for at, free in enumerate(case.room)
    )


def _sets(case: Case):
    for choice in product((0, 1, 2), repeat=len(case.asks)):
        yield {ask.key: (ask.least, ask.gpus)[each - 1] for ask, each in zip(case.asks, choice, strict=True) if each}


def _raised(case: Case, gpus: dict[str, int], weights: dict[str, int]) -> int:
    return sum(weights[ask.key] for ask in case.asks if gpus.get(ask.key) == ask.gpus)


@given(desks(), st.randoms(use_true_random=False))
def test_no_set_that_fits_holds_more_of_the_ranking(case, dice):
    weights = {ask.key: dice.randint(1, 9) for ask in case.asks}

    found = suggest_now(case.room, case.asks, weights)

    fitting = [gpus for gpus in _sets(case) if _fits(case, gpus)]
    assert _fits(case, dict(found.gpus))
    assert found.weight == sum(weights[key] for key in found.gpus)
    assert found.weight == max(sum(weights[key] for key in gpus) for gpus in fitting)
    assert found.is_best
    same = [gpus for gpus in fitting if gpus.keys() == found.gpus.keys()]
    assert _raised(case, dict(found.gpus), weights) == max(_raised(case, gpus, weights) for gpus in same)


@given(desks(), st.randoms(use_true_random=False))
def test_the_order_of_the_asks_changes_nothing(case, dice):
    weights = {ask.key: dice.randint(1, 3) for ask in case.asks}
    shuffled = list(case.asks)
    dice.shuffle(shuffled)

    assert suggest(case.room, shuffled, weights) == suggest(case.room, case.asks, weights)


@given(desks())
def test_what_would_have_to_go_for_a_left_out_ask_is_needed_and_enough(case):
    weights = {ask.key: len(case.asks) - place for place, ask in enumerate(case.asks)}

    found = suggest(case.room, case.asks, weights)

    by_key = {ask.key: ask for ask in case.asks}
    for each in found.left_out:
        ask = by_key[each.key]
        alone = min(case.room[ask.first : ask.last])
        if each.instead is None:
            assert alone < ask.least
            continue
        for kept in ([], *([key] for key in each.instead)):
            gpus = {key: count for key, count in found.gpus.items() if key not in each.instead or key in kept}
            fits = all(
                case.room[at] - sum(count for key, count in gpus.items() if by_key[key].first <= at < by_key[key].last)
                >= ask.least
                for at in range(ask.first, ask.last)
            )
            assert fits == (not kept)


def test_two_hundred_asks_are_answered_with_a_bound():
    dice = random.Random(7)
    asks = []
    for number in range(200):
        first, gpus = dice.randrange(80), dice.choice([8, 16, 32, 64, 128, 256])
        asks.append(Ask(f"k{number:03}", first, first + dice.randint(2, 60), gpus, dice.choice([gpus, gpus // 2])))
    weights = {ask.key: 200 - place for place, ask in enumerate(asks)}

    found = suggest([900] * 140, asks, weights)

    assert found.weight <= found.bound
    assert found.bound - found.weight <= found.weight // 50
