"""Laws of judging, over any readings: unknown is never idle, order does not matter, more work is never more idle."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from inventory.activity import Reading
from tests.inventory.activity.readings import IDLE_W, NOW, RULES, UNIT, state, verdict

AT_REST = {"held_idle", "low", "empty"}
PERCENT = st.none() | st.sampled_from([0.0, 0.0, 3.0, 50.0, 100.0])
READINGS = st.lists(
    st.builds(
        Reading,
        at=st.integers(0, 120).map(lambda step: NOW - timedelta(seconds=10 * step)),
        holder=st.sampled_from(["apollo", "apollo", "apollo", "borealis", None]),
        util_pct=PERCENT,
        util_peak_pct=PERCENT,
        engine_pct=st.none() | st.just(0.0) | st.just(60.0),
        power_w=st.none() | st.sampled_from([IDLE_W, 300.0]),
        energy_j=st.none() | st.floats(0, 1e6),
        mem_used_mib=st.none() | st.sampled_from([2, 40_000]),
        running=st.none() | st.integers(0, 2),
    ),
    unique_by=lambda row: row.at,
    max_size=100,
)
# Most of a window alike, so that coverage is reached and the laws meet idle verdicts as well.
ALIKE = st.builds(
    lambda util, running, watts, missing: [
        Reading(NOW - timedelta(seconds=10 * step), "apollo", util, util, None, watts, None, 40_000, running)
        for step in range(90)
        if step not in missing
    ],
    st.sampled_from([0.0, 2.0, 100.0]),
    st.sampled_from([0, 1]),
    st.sampled_from([IDLE_W, 300.0]),
    st.integers(0, 45).map(lambda gone: range(20, 20 + gone)),
)
ANY = st.one_of(READINGS, ALIKE)
UNITS = st.builds(
    lambda lost, shares, zombies, minutes: UNIT._replace(
        is_lost=lost, shares_memory=shares, only_zombies=zombies,
        booted_at=minutes and NOW - timedelta(minutes=minutes),
    ),
    st.booleans(), st.booleans(), st.booleans(), st.none() | st.integers(1, 30),
)  # fmt: skip


@given(readings=ANY, unit=UNITS, seed=st.randoms(use_true_random=False))
def test_the_order_of_the_readings_does_not_matter(readings, unit, seed):
    mixed = list(readings)
    seed.shuffle(mixed)

    assert verdict(mixed, unit=unit) == verdict(readings, unit=unit)


@given(readings=ANY, unit=UNITS, step=st.floats(0, 900))
def test_a_reading_that_knows_nothing_never_makes_it_idle(readings, unit, step):
    at = NOW - timedelta(seconds=step)
    unknown = Reading(at, "apollo")

    before, after = state(readings, unit=unit), state([*readings, unknown], unit=unit)

    assert after == before or after not in AT_REST


@given(readings=ANY, unit=UNITS, number=st.integers(0, 99))
def test_a_reading_that_is_taken_out_never_makes_it_idle_but_by_what_it_showed(readings, unit, number):
    if number >= len(readings):
        return
    taken = readings[number]
    rest = [row for row in readings if row is not taken]
    if taken.tells_use and not taken.shows_use and taken.running:
        assert state(readings, unit=unit) in AT_REST or state(rest, unit=unit) not in ("held_idle", "low")


@given(readings=ANY, unit=UNITS)
def test_nobody_is_idle_with_fewer_than_four_fifths_of_the_readings(readings, unit):
    found = verdict(readings, unit=unit)

    if found.state in ("held_idle", "low", "hung"):
        assert found.coverage_pct >= RULES.coverage_pct
        valid = [row for row in readings if row.holder == "apollo" and row.tells_use]
        assert len(valid) * RULES.interval_s >= 0.8 * RULES.window_s


@given(readings=ANY, unit=UNITS)
def test_idle_means_that_nothing_at_all_was_seen_to_run(readings, unit):
    if state(readings, unit=unit) == "held_idle":
        own = [row for row in readings if row.holder == "apollo" and row.at >= NOW - timedelta(seconds=900)]
        begin = unit.booted_at or NOW - timedelta(seconds=900)
        assert not any(row.shows_use for row in own if row.at >= begin)


@given(readings=ANY, unit=UNITS)
def test_a_verdict_never_begins_before_its_window_or_after_now(readings, unit):
    since = verdict(readings, unit=unit).since

    assert NOW - timedelta(seconds=900) <= since <= NOW


@given(readings=ANY, unit=UNITS)
def test_an_agent_that_began_anew_now_leaves_nothing_idle(readings, unit):
    assert state(readings, unit=unit._replace(booted_at=NOW)) not in ("held_idle", "low", "hung")
