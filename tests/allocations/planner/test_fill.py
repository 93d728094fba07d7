"""Sums of lots against every way to take them."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from allocations.planner.fill import Fill, fill, largest_sum

lots = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 20)), max_size=9)


def runs(some: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    return [(size, cost, 1) for size, cost in some]


@given(lots, st.integers(0, 40))
def test_it_finds_the_largest_sum_at_the_least_cost(some, gpus):
    found = fill(runs(some), gpus)

    every = [chosen for count in range(len(some) + 1) for chosen in combinations(some, count)]
    totals = [(sum(size for size, _ in chosen), sum(cost for _, cost in chosen)) for chosen in every]
    assert (found.gpus, found.cost) == min((t for t in totals if t[0] <= gpus), key=lambda t: (-t[0], t[1]))


@given(lots, st.integers(0, 40))
def test_the_cheapest_lots_of_each_size_give_that_sum_and_cost(some, gpus):
    found = fill(runs(some), gpus)

    chosen = [
        (size, cost)
        for size, count in found.lots.items()
        for cost in sorted(cost for other, cost in some if other == size)[:count]
    ]
    assert (sum(size for size, _ in chosen), sum(cost for _, cost in chosen)) == (found.gpus, found.cost)


@given(lots, st.integers(0, 40), st.integers(2, 30))
def test_lots_that_come_in_runs_count_like_single_ones(some, gpus, times):
    together = fill([(size, cost, times) for size, cost in some], gpus)

    assert (together.gpus, together.cost) == (lambda f: (f.gpus, f.cost))(fill(runs(some * times), gpus))


@given(st.dictionaries(st.integers(1, 9), st.integers(0, 6), max_size=4), st.integers(0, 60))
def test_the_largest_sum_is_one_that_can_be_made(counts, gpus):
    single = [size for size, count in counts.items() for _ in range(count)]
    sums = {0}
    for size in single:
        sums |= {total + size for total in sums}

    assert largest_sum(counts, gpus) == max(total for total in sums if total <= gpus)


def test_of_seven_and_eight_gpu_nodes_five_of_one_kind_can_be_cheaper_than_four_of_the_other():
    assert fill([(8, 10, 9), (7, 1, 9), (5, 1, 1)], 40) == Fill(40, 6, {7: 5, 5: 1, 8: 0})


def test_thousands_of_lots_of_many_sizes_are_no_walk_over_all_of_them():
    found = fill([(size, size * 7 % 5, 3000) for size in (1, 2, 3, 4, 5, 6, 7, 8)], 4096)

    # 819 fives are free and leave one; every single lot that would do for the rest costs 2, and no sum costs 1
    assert (found.gpus, found.cost) == (4096, 2)
