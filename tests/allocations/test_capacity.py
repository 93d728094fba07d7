"""Capacity over time against a brute-force grid, and the laws that need no oracle."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocations import capacity
from allocations.capacity import Booking, Kind, SplitTerm, Step, Timeline

DAY_0 = datetime(2026, 3, 1, tzinfo=UTC)
DAYS = 30  # every interval of these tests begins and ends on a day of this grid, so that a look at each day is exact


def day(number: int) -> datetime:
    return DAY_0 + timedelta(days=number)


def booking(first: int, last: int | None, gpus: int) -> Booking:
    return Booking(day(first), None if last is None else day(last), gpus)


def grid(line: Timeline) -> list[int]:
    return [line.at(day(number)) for number in range(-1, DAYS + 2)]


def brute(bookings: list[Booking], base: int = 0) -> list[int]:
    return [
        base + sum(b.gpus for b in bookings if b.starts_at <= day(n) and (b.ends_at is None or day(n) < b.ends_at))
        for n in range(-1, DAYS + 2)
    ]


bookings = st.builds(
    booking, st.integers(0, DAYS), st.none() | st.integers(0, DAYS), st.integers(0, 9)
)  # some of them end before they start: those cover nothing
asks = st.tuples(st.integers(0, DAYS - 1), st.none() | st.integers(1, 12), st.integers(0, 12)).map(
    lambda ask: booking(ask[0], None if ask[1] is None else ask[0] + ask[1], ask[2])
)
timelines = st.builds(Timeline.of, st.integers(-5, 20), st.lists(bookings, max_size=6))
percents = st.lists(st.integers(0, 1000), min_size=1, max_size=4).map(
    lambda weights: {
        name: Decimal(1000 * weight // max(1000, sum(weights))) / 10
        for name, weight in zip("abcd", weights, strict=False)
    }
)
splits = st.lists(st.builds(SplitTerm, st.integers(0, DAYS).map(day), percents), max_size=4)


class TestTimeline:
    @given(st.integers(-5, 20), st.lists(bookings, max_size=8))
    def test_it_says_at_each_day_what_a_sum_over_all_bookings_says(self, base, booked):
        line = Timeline.of(base, booked)

        assert grid(line) == brute(booked, base)

    @given(timelines, timelines)
    def test_sum_and_difference_are_taken_at_every_instant(self, one, other):
        total, rest = one + other, one - other

        assert grid(total) == [a + b for a, b in zip(grid(one), grid(other), strict=True)]
        assert grid(rest) == [a - b for a, b in zip(grid(one), grid(other), strict=True)]

    @given(timelines, timelines)
    def test_adding_and_taking_away_again_gives_the_same_object(self, one, other):
        assert one + other - other == one
        assert one + other == other + one

    @given(timelines, st.integers(-5, 25), st.integers(0, 10))
    def test_clamp_bounds_every_instant(self, line, low, width):
        bounded = line.clamp(low=low, high=low + width)

        assert grid(bounded) == [min(low + width, max(low, gpus)) for gpus in grid(line)]

    @given(timelines, st.integers(0, DAYS - 1), st.integers(1, DAYS))
    def test_the_minimum_is_the_least_of_all_days(self, line, first, length):
        least = line.minimum(day(first), day(first + length))

        assert least == min(line.at(day(n)) for n in range(first, first + length))

    @given(timelines, st.integers(0, DAYS - 1), st.none() | st.integers(1, DAYS))
    def test_steps_cover_the_interval_once_and_each_differs_from_the_next(self, line, first, length):
        end = None if length is None else day(first + length)

        steps = line.steps(day(first), end)

        assert (steps[0].starts_at, steps[-1].ends_at) == (day(first), end)
        assert all(a.ends_at == b.starts_at and a.gpus != b.gpus for a, b in pairwise(steps))
        assert [step.gpus for step in steps] == [line.at(step.starts_at) for step in steps]

    def test_the_last_instant_is_outside(self):
        line = Timeline.of(0, [booking(1, 2, 5)])

        assert line.steps(day(0), day(3)) == [Step(day(0), day(1), 0), Step(day(1), day(2), 5), Step(day(2), day(3), 0)]
        assert line.at(day(2) - timedelta(microseconds=1)) == 5

    def test_no_instant_has_no_minimum(self):
        with pytest.raises(ValueError, match="no instant"):
            Timeline.constant(3).minimum(day(2), day(2))

    def test_a_time_without_a_zone_is_refused(self):
        with pytest.raises(ValueError, match="no time zone"):
            Booking(datetime(2026, 3, 1), None, 1)

    def test_the_hour_that_a_clock_change_repeats_is_two_hours(self):
        berlin = ZoneInfo("Europe/Berlin")
        first, second = (datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=fold) for fold in (0, 1))

        line = Timeline.of(0, [Booking(first, second, 8)])

        assert line.steps(first, second) == [Step(first.astimezone(UTC), second.astimezone(UTC), 8)]

    def test_many_bookings_are_no_walk_over_days(self):
        a_century = [Booking(DAY_0 + timedelta(seconds=n), DAY_0 + timedelta(days=36_500), 1) for n in range(2_000)]

        line = Timeline.of(0, a_century)

        assert len(line.changes) == 2_001
        assert line.at(DAY_0 + timedelta(days=20_000)) == 2_000


class TestApportion:
    @given(st.integers(0, 10_000), percents)
    def test_all_gpus_are_given_out_and_each_number_is_within_one_of_its_exact_share(self, total, parts):
        whole = capacity.apportion(total, parts, reserve="reserve")

        assert sum(whole.values()) == total
        assert all(abs(whole[key] - Fraction(part) * total / 100) < 1 for key, part in parts.items())

    @given(st.integers(0, 500), percents)
    def test_nobody_with_a_smaller_remainder_is_rounded_up_before_a_larger_one(self, total, parts):
        whole = capacity.apportion(total, parts, reserve="reserve")

        exact = {key: Fraction(part) * total / 100 for key, part in parts.items()}
        up = [exact[key] % 1 for key in parts if whole[key] > exact[key]]
        down = [exact[key] % 1 for key in parts if whole[key] < exact[key]]
        assert all(high >= low for high in up for low in down)

    @given(st.integers(0, 500), percents)
    def test_the_order_of_the_rows_changes_nothing(self, total, parts):
        turned = dict(reversed(parts.items()))

        assert capacity.apportion(total, parts, reserve="r") == capacity.apportion(total, turned, reserve="r")

    def test_a_tie_goes_to_the_larger_percent_then_to_the_name_and_last_to_the_reserve(self):
        half = Decimal("50")

        assert capacity.apportion(5, {"research": half, "applied": half}, reserve="-") == {
            "research": 2,
            "applied": 3,
            "-": 0,
        }
        assert capacity.apportion(5, {"research": half}, reserve="-") == {"research": 3, "-": 2}
        assert capacity.apportion(2, {"a": Decimal(25), "b": Decimal(75)}, reserve="-") == {"a": 0, "b": 2, "-": 0}

    def test_of_two_equal_remainders_and_one_gpu_the_larger_percent_gets_it(self):
        assert capacity.apportion(856, {"research": Decimal(60), "applied": Decimal(35)}, reserve="reserve") == {
            "research": 514,
            "applied": 299,
            "reserve": 43,
        }

    @pytest.mark.parametrize(
        ("total", "parts"),
        [
            (-1, {}),
            (1, {"a": Decimal(101)}),
            (1, {"a": Decimal(-1)}),
            (1, {"a": Decimal("NaN")}),
            (1, {"-": Decimal(1)}),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, total, parts):
        with pytest.raises(ValueError, match=r".+"):
            capacity.apportion(total, parts, reserve="-")


class TestHealthyAndShare:
    @given(st.integers(0, 30), st.lists(bookings, max_size=4), st.lists(bookings, max_size=2))
    def test_healthy_is_all_that_is_not_out_and_never_below_zero(self, gpus, outages, arrivals):
        line = capacity.healthy(gpus, outages, arrivals)

        there, out = brute(arrivals, gpus), brute(outages)
        assert grid(line) == [max(0, a - b) for a, b in zip(there, out, strict=True)]

    @given(st.integers(0, 30), st.lists(bookings, max_size=4), splits)
    def test_a_share_is_the_split_of_the_day_applied_to_the_healthy_of_the_day(self, gpus, outages, terms):
        healthy = capacity.healthy(gpus, outages)

        line = capacity.share(healthy, terms, "a")

        for number in range(-1, DAYS + 2):
            before = [term for term in terms if term.at <= day(number)]
            in_force = max(before, key=lambda term: (term.at, terms.index(term))) if before else None
            same_day = [term for term in before if in_force and term.at == in_force.at]
            expected = 0
            if same_day:
                expected = capacity.apportion(healthy.at(day(number)), same_day[-1].percents, reserve="-").get("a", 0)
            assert line.at(day(number)) == expected

    @given(st.integers(0, 30), st.lists(bookings, max_size=4), splits)
    def test_the_shares_of_all_divisions_never_exceed_what_is_healthy(self, gpus, outages, terms):
        healthy = capacity.healthy(gpus, outages)

        shares = sum((capacity.share(healthy, terms, name) for name in "abcd"), Timeline.constant(0))

        assert min(grid(healthy - shares)) >= 0

    def test_no_name_of_a_division_collides_with_the_reserve(self):
        terms = [SplitTerm(day(0), {"-": Decimal(50), "": Decimal(50)})]

        assert capacity.share(Timeline.constant(10), terms, "-").at(day(1)) == 5


def limits(division, others, share, healthy):
    """The four timelines of a check, from bookings of the division and of the rest."""
    return {
        "share": share,
        "healthy": healthy,
        "promised_division": Timeline.of(0, division),
        "promised_model": Timeline.of(0, division + others),
    }


some = st.lists(bookings, max_size=4)
checks = st.builds(
    limits, some, some, timelines.map(lambda line: line.clamp(low=0)), timelines.map(lambda line: line.clamp(low=0))
)


def over_days(ask):
    last = DAYS + 2 if ask.ends_at is None else (ask.ends_at - DAY_0).days
    return range((ask.starts_at - DAY_0).days, max(last, (ask.starts_at - DAY_0).days + 1))


class TestShortage:
    @given(asks, checks)
    def test_an_ask_is_refused_exactly_when_some_day_lacks_room_and_the_numbers_are_that_days(self, ask, lines):
        rooms = {
            Kind.SHARE: lines["share"] - lines["promised_division"],
            Kind.CAPACITY: lines["healthy"] - lines["promised_model"],
        }
        least = min(min(room.at(day(n)) for n in over_days(ask)) for room in rooms.values())

        found = capacity.shortage(ask, **lines)

        assert (found is None) == (least >= ask.gpus)
        if found is not None:
            assert (found.short_gpus, found.free_gpus, found.asked_gpus) == (ask.gpus - least, max(0, least), ask.gpus)
            assert found.promised_gpus + found.asked_gpus - found.limit_gpus == found.short_gpus
            worst = [n for n in over_days(ask) if rooms[found.kind].at(day(n)) == least]
            assert found.at == day(worst[0])
            assert found.until is None or day(worst[0]) < found.until
            assert all(
                rooms[found.kind].at(day(n)) == least
                for n in over_days(ask)
                if found.at <= day(n) < (found.until or day(99))
            )

    @given(asks, checks)
    def test_the_free_number_fits_and_one_more_does_not(self, ask, lines):
        found = capacity.shortage(ask, **lines)

        if found is not None:
            largest = Booking(ask.starts_at, ask.ends_at, found.free_gpus)
            more = Booking(ask.starts_at, ask.ends_at, found.free_gpus + 1)
            in_debt = min(capacity.free(**lines).at(day(n)) for n in over_days(ask)) < 0
            assert (capacity.shortage(largest, **lines) is None) == (not in_debt)
            assert capacity.shortage(more, **lines) is not None

    @given(asks, checks)
    def test_what_was_promised_after_a_check_leaves_no_debt_that_was_not_there(self, ask, lines):
        found = capacity.shortage(ask, **lines)

        promised = lines["promised_division"] + Timeline.of(0, [ask])
        before = capacity.debt(share=lines["share"], promised=lines["promised_division"])
        after = capacity.debt(share=lines["share"], promised=promised)
        if found is None:
            assert after == before

    @given(asks, checks, bookings)
    def test_one_promise_more_never_makes_room(self, ask, lines, extra):
        short = capacity.shortage(ask, **lines)
        more = {name: line + Timeline.of(0, [extra] * name.startswith("promised")) for name, line in lines.items()}

        shorter = capacity.shortage(ask, **more)

        if short is not None:
            assert shorter is not None
            assert shorter.short_gpus >= short.short_gpus

    @given(asks, checks, st.integers(-400, 400))
    def test_moving_everything_by_the_same_days_moves_the_answer(self, ask, lines, shift):
        by = timedelta(days=shift)

        def moved(line):
            return Timeline(line.base, tuple((at + by, gpus) for at, gpus in line.changes))

        later = Booking(ask.starts_at + by, ask.ends_at and ask.ends_at + by, ask.gpus)

        here, there = (
            capacity.shortage(ask, **lines),
            capacity.shortage(later, **{k: moved(v) for k, v in lines.items()}),
        )

        assert (here and (here.kind, here.at + by, here.until and here.until + by, here.short_gpus)) == (
            there and (there.kind, there.at, there.until, there.short_gpus)
        )

    def test_a_future_grant_in_the_middle_of_the_ask_is_seen(self):
        lines = limits([booking(10, 12, 6)], [], Timeline.constant(8), Timeline.constant(20))

        found = capacity.shortage(booking(0, 20, 4), **lines)

        assert found == capacity.Shortage(Kind.SHARE, day(10), day(12), 8, 6, 4, 2, 2)

    def test_a_split_change_and_a_cordon_in_the_future_are_seen(self):
        healthy = capacity.healthy(20, [booking(15, 16, 15)])
        terms = [SplitTerm(day(0), {"a": Decimal(60)}), SplitTerm(day(5), {"a": Decimal(30)})]
        share = capacity.share(healthy, terms, "a")

        assert capacity.shortage(booking(0, 5, 12), **limits([], [], share, healthy)) is None
        assert capacity.shortage(booking(0, 6, 12), **limits([], [], share, healthy)).at == day(5)
        assert capacity.shortage(booking(6, 20, 5), **limits([], [], share, healthy)).at == day(15)

    def test_the_other_divisions_promises_count_against_what_is_healthy(self):
        lines = limits([], [booking(0, None, 15)], Timeline.constant(10), Timeline.constant(20))

        assert capacity.shortage(booking(0, 3, 8), **lines) == capacity.Shortage(
            Kind.CAPACITY, day(0), day(3), 20, 15, 8, 3, 5
        )

    def test_an_ask_that_covers_nothing_is_no_question(self):
        lines = limits([], [], Timeline.constant(1), Timeline.constant(1))

        with pytest.raises(ValueError, match="no instant"):
            capacity.shortage(booking(3, 3, 1), **lines)
        with pytest.raises(ValueError, match="no instant"):
            capacity.earliest_start(booking(3, 3, 1), **lines)


class TestEarliestStart:
    @given(asks, checks)
    def test_it_is_the_first_day_on_which_the_whole_ask_fits(self, ask, lines):
        length = None if ask.ends_at is None else ask.ends_at - ask.starts_at
        starts = [day(n) for n in range((ask.starts_at - DAY_0).days, DAYS + 2)]
        fits = [
            at
            for at in starts
            if capacity.shortage(Booking(at, None if length is None else at + length, ask.gpus), **lines) is None
        ]

        assert capacity.earliest_start(ask, **lines) == (fits[0] if fits else None)

    @given(asks, checks, st.integers(0, DAYS))
    def test_a_latest_start_only_cuts_the_answer_off(self, ask, lines, last):
        found = capacity.earliest_start(ask, **lines)

        assert capacity.earliest_start(ask, **lines, latest=day(last)) == (
            found if found and found <= day(last) else None
        )

    def test_a_gap_that_is_as_long_as_the_ask_will_do(self):
        lines = limits([booking(0, 4, 8), booking(7, None, 8)], [], Timeline.constant(8), Timeline.constant(8))

        assert capacity.earliest_start(booking(0, 3, 8), **lines) == day(4)
        assert capacity.earliest_start(booking(0, 4, 8), **lines) is None


class TestDebt:
    def test_a_split_cut_from_64_to_32_with_50_promised_is_18_over_and_never_negative(self):
        """kueue#5176."""
        share = capacity.share(
            Timeline.constant(64), [SplitTerm(day(0), {"a": Decimal(100)}), SplitTerm(day(9), {"a": Decimal(50)})], "a"
        )

        over = capacity.debt(share=share, promised=Timeline.of(0, [booking(0, None, 50)]))

        assert over.steps(day(0), None) == [Step(day(0), day(9), 0), Step(day(9), None, 18)]
