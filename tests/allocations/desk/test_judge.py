"""What fits beside what, against a day grid that tries everything."""

from hypothesis import given

from allocations.desk import Ask, judge
from tests.allocations.desk.cases import Case, desks


def _kept(case: Case, *, but: str = "") -> tuple[list[int], dict[str, bool]]:
    """What is left when the taken ones are given one after the other, and who of them fits."""
    room, fits = list(case.room), {}
    by_key = {ask.key: ask for ask in case.asks}
    for key, gpus in case.taken.items():
        span = range(by_key[key].first, by_key[key].last)
        fits[key] = all(room[at] >= gpus for at in span)
        for at in span:
            room[at] -= gpus if fits[key] else 0
    if fits.get(but):
        for at in range(by_key[but].first, by_key[but].last):
            room[at] += case.taken[but]
    return room, fits


def _fits(room: list[int], ask: Ask, gpus: int) -> bool:
    return all(room[at] >= gpus for at in range(ask.first, ask.last))


@given(desks(most=7))
def test_every_finding_is_what_a_grid_of_stretches_says(case):
    judged = judge(case.room, case.asks, case.taken)
    room, given_fits = _kept(case)

    for ask in case.asks:
        gpus = case.taken.get(ask.key, ask.gpus)
        fits = given_fits[ask.key] if ask.key in given_fits else _fits(room, ask, gpus)
        found = judged.findings[ask.key]
        assert found.fits == fits
        assert (found.short_gpus == 0) == fits
        if ask.key not in case.taken:
            low = min(room[ask.first : ask.last])
            assert (found.free_gpus, found.at) == (low, room.index(low, ask.first))
    assert list(judged.left) == [
        free - sum(case.taken[ask.key] for ask in case.asks if ask.key in case.taken and ask.first <= at < ask.last)
        for at, free in enumerate(case.room)
    ]


@given(desks(most=7))
def test_an_ask_displaces_those_that_fit_only_without_it(case):
    judged = judge(case.room, case.asks, case.taken)
    _, given_fits = _kept(case)

    for one in case.asks:
        gpus = case.taken.get(one.key, one.gpus)
        without, _ = _kept(case, but=one.key)
        displaced = []
        if judged.findings[one.key].fits:
            beside = [free - (gpus if one.first <= at < one.last else 0) for at, free in enumerate(without)]
            displaced = [
                other.key
                for other in case.asks
                if other.key != one.key
                and not given_fits.get(other.key)
                and _fits(without, other, case.taken.get(other.key, other.gpus))
                and not _fits(beside, other, case.taken.get(other.key, other.gpus))
            ]
        assert list(judged.findings[one.key].displaces) == displaced


def test_two_halves_of_a_year_do_not_add_up():
    asks = [Ask("spring", 0, 1, 8, 8), Ask("autumn", 1, 2, 8, 8), Ask("both", 0, 2, 8, 8)]

    judged = judge([8, 8], asks, {"spring": 8})

    assert {key: (found.fits, found.displaces) for key, found in judged.findings.items()} == {
        "spring": (True, ("both",)),
        "autumn": (True, ()),
        "both": (False, ()),
    }
