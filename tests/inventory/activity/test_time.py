"""Judging over time: when a state began, what begins the clock anew, what rest draws, and a day of tiny kernels."""

from datetime import timedelta

import pytest

from inventory.activity import Exemption, Previous, Reading, counts_since
from tests.inventory.activity.readings import (
    IDLE_W,
    NOW,
    UNIT,
    judged_after,
    quarter,
    reading,
    verdict,
)

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def before(state="held_idle", *, since=HOUR, judged=MINUTE, holder="apollo"):
    return Previous(state, NOW - since, NOW - judged, holder, IDLE_W)


def test_what_goes_on_began_when_it_began():
    assert judged_after(quarter(), before()).since == NOW - HOUR


@pytest.mark.parametrize(
    "previous",
    [before("active"), before(holder="borealis"), before(judged=timedelta(minutes=16)), None],
    ids=["another state", "other hands", "nobody judged for a while", "never judged"],
)
def test_anything_else_begins_with_the_window(previous):
    assert judged_after(quarter(), previous).since == reading(890).at


def test_an_agent_that_began_anew_begins_the_clock_anew():
    unit = UNIT._replace(booted_at=NOW - timedelta(minutes=14))

    assert judged_after(quarter(), before(), unit=unit).since == reading(840).at


def test_work_began_with_the_first_reading_that_shows_it():
    readings = [*quarter()[:-12], *quarter(util_pct=90.0, power_w=600.0)[-12:]]

    assert verdict(readings).since == reading(110).at


def test_an_empty_card_is_empty_since_the_last_reading_that_was_not():
    readings = [*quarter()[:-12], *quarter(running=0, mem_used_mib=2)[-12:]]

    assert verdict(readings).since == reading(120).at


def test_a_ghost_is_one_since_its_last_process():
    readings = [*quarter()[:20], *quarter(running=0)[20:]]

    assert (verdict(readings).state, verdict(readings).since) == ("ghost", reading(700).at)


def test_rest_is_learned_while_no_kernel_could_be_missed_and_from_nothing_else():
    rest = {"power_w": 90.0}

    assert judged_after(quarter(**rest), None, own_idle_w=None).idle_w == 90.0
    assert judged_after(quarter(**rest), None).idle_w == pytest.approx(70 + 0.2 * 20)
    assert judged_after(quarter(**rest, util_peak_pct=None), None).idle_w == IDLE_W
    assert judged_after(quarter(**rest, util_peak_pct=None, running=0, mem_used_mib=2), None).idle_w > IDLE_W
    assert judged_after(quarter(power_w=90.0, util_peak_pct=100.0), None).idle_w == IDLE_W
    assert judged_after(quarter(**rest)[::2], None).idle_w == IDLE_W


def a_day_of_tiny_kernels(working_w: float) -> list[str]:
    """Every verdict of a day in which 50 ms of each minute are a kernel; rest draws 77 W, `working_w` in the mean.

    The numbers are the stand-in's for the driver: an H100 with a limit of 700 W; its counter of energy misses nothing.
    """
    readings, states, previous, idle_w = [], [], None, 77.0
    for step in range(0, 86_400, 10):
        at = NOW + timedelta(seconds=step)
        kernel = step % 60 == 0
        # The sample of the instant hits 50 ms in a minute about once in twenty hours.
        util = 100.0 if step == 43_200 else 0.0
        readings.append(
            Reading(at, "apollo", util, 100.0 if kernel else 0.0, 0.0, working_w, working_w * step, 40_000, 1)
        )
        if kernel and step >= 900:
            recent = readings[-91:]
            found = judged_after(recent, previous, now=at, own_idle_w=idle_w)
            previous, idle_w = Previous(found.state, found.since, at, "apollo", idle_w), found.idle_w
            states.append(found.state)
    assert found.since <= NOW + timedelta(minutes=1)
    return states


def test_a_kernel_of_50_ms_each_minute_of_a_day_at_near_idle_power_is_low():
    assert set(a_day_of_tiny_kernels(79.0)) == {"low"}


def test_the_same_with_real_power_is_active():
    assert set(a_day_of_tiny_kernels(420.0)) == {"active"}


@pytest.mark.parametrize(
    ("exemption", "expected"),
    [
        (Exemption("serving", NOW - 3 * HOUR, None), None),
        (Exemption("interactive", NOW - 3 * HOUR, NOW + HOUR), None),
        (Exemption("phase", NOW - 2 * HOUR, NOW - MINUTE), NOW - MINUTE),
        (Exemption("phase", NOW - 9 * HOUR, NOW - 8 * HOUR), NOW - HOUR),
        (Exemption("phase", NOW + HOUR, NOW + 2 * HOUR), NOW - HOUR),
    ],
    ids=["it serves", "interactive for now", "a phase that ended", "one that ended before", "one to come"],
)
def test_rest_that_was_agreed_on_does_not_count(exemption, expected):
    assert counts_since(NOW - HOUR, [exemption], now=NOW) == expected
