"""Named cases of judging, each with the public report it comes from: what looks idle and is not, what looks busy."""

import pytest

from inventory.activity import Unit
from tests.inventory.activity.readings import IDLE_W, LIMIT_W, UNIT, quarter, reading, state

MIG = {"util_pct": None, "util_peak_pct": None, "power_w": None}
NOTHING = {"running": None, "mem_used_mib": None}
NO_PROCESS = {"running": 0, "mem_used_mib": 2}
V1 = {"util_peak_pct": None}

CASES = {
    # name: (state, readings, options)
    "nothing runs, memory is held": ("held_idle", quarter(), {}),
    "real work": ("active", quarter(util_pct=97.0, power_w=650.0), {}),
    "nobody there: blackwell-llm-docker#44": ("empty", quarter(**NO_PROCESS), {}),
    "idle with its reserve told apart: gpustat#141": ("empty", quarter(running=0, mem_used_mib=32), {}),
    "idle where the driver counts its reserve: gpustat#141, #116, #130": (
        "empty", quarter(running=0, mem_used_mib=551), {"unit": UNIT._replace(is_reserve_told=False)},
    ),
    "a card that shares the node's memory: nvitop#208": (
        "empty", quarter(running=0, mem_used_mib=90_000), {"unit": UNIT._replace(shares_memory=True)},
    ),
    "one reading is empty, the one before is not": ("unknown", [*quarter()[:-1], reading(0, **NO_PROCESS)], {}),
    # Looks idle, is not.
    "MIG without utilisation: dcgm-exporter#105, #216, #430": ("unknown", quarter(**MIG), {}),
    "MIG, and the process list says that nobody is there": ("empty", quarter(**MIG | NO_PROCESS), {}),
    "MIG with the performance monitor's numbers": ("active", quarter(**MIG | {"util_pct": 60.0}), {}),
    "N/A read as none: nvidia_gpu_exporter#203": ("unknown", quarter(**MIG | NOTHING), {}),
    "a process list that the driver does not have: gpustat#138": ("held_idle", quarter(running=None), {}),
    "no process list, and memory that says nobody": ("unknown", quarter(running=None, mem_used_mib=2), {}),
    "a video job: 0 % for kernels": ("active", quarter(engine_pct=40.0), {}),
    "short kernels between polls, in the driver's buffer": ("active", quarter(util_peak_pct=100.0, power_w=300.0), {}),
    "short kernels between polls, seen by the power alone": ("active", quarter(**V1, power_w=300.0), {}),
    "an exporter's gap: half of the readings are missing": ("unknown", quarter()[::2], {}),
    "one reading in six is missing": ("held_idle", [row for n, row in enumerate(quarter()) if n % 6], {}),
    "old values served as new ones: pai#889": ("unknown", quarter()[:-4], {}),
    "an agent that began anew a minute ago": (
        "unknown", quarter(), {"unit": UNIT._replace(booted_at=reading(60).at)},
    ),
    "handed over a minute ago": ("unknown", [*quarter(holder="borealis")[:-6], *quarter()[-6:]], {}),
    "it is lost": ("unknown", quarter(), {"unit": UNIT._replace(is_lost=True)}),
    "a page that does not say the holder: dcgm-exporter": ("held_idle", quarter(holder=None), {"unit": Unit(None)}),
    "nobody ever read it": ("unknown", [], {"unit": Unit(None)}),
    # Looks busy, is not.
    "kernels spin and wait at idle power": ("hung", quarter(util_pct=100.0, power_w=IDLE_W + 10), {}),
    "the same where nobody knows what rest draws": ("active", quarter(util_pct=100.0, power_w=80.0), {"idle_w": None}),
    "no process, 100 % and no memory: lium-io#1142": ("ghost", quarter(running=0, mem_used_mib=0, util_pct=100.0), {}),
    "no process, memory stays: VisEdit#5": ("ghost", quarter(running=0, mem_used_mib=10_151), {}),
    "zombies hold memory: microsoft/pai#5528": ("ghost", quarter(), {"unit": UNIT._replace(only_zombies=True)}),
    "its process ended two minutes ago, its memory is still held": (
        "unknown", [*quarter()[:-12], *quarter(running=0)[-12:]], {},
    ),
    "a health probe touches it now and then: text-generation-inference#1482": (
        "low", [*quarter()[:-30], reading(300, util_pct=3.0, util_peak_pct=30.0), *quarter()[-29:]], {},
    ),
    "a tiny kernel a minute, power unknown": (
        "low", [row._replace(util_peak_pct=0.0 if n % 6 else 99.0, power_w=None) for n, row in enumerate(quarter())],
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("expected", "readings", "options"), CASES.values(), ids=CASES)
def test_it_is_judged(expected, readings, options):
    assert state(readings, **options) == expected


@pytest.mark.parametrize(
    ("watts", "limit_w", "expected"),
    [(139, LIMIT_W, "low"), (141, LIMIT_W, "active"), (84, 72.0, "low"), (86, 72.0, "active"), (84, None, "low")],
    ids=["a context on a large board", "work on it", "a small board near rest", "work on it", "limit unknown"],
)  # fmt: skip
def test_what_counts_as_near_idle_goes_by_the_board(watts, limit_w, expected):
    readings = quarter(util_pct=1.0, power_w=watts)

    assert state(readings, unit=UNIT._replace(limit_w=limit_w)) == expected


def test_the_counter_sees_what_the_samples_miss():
    counted = [row._replace(energy_j=3000.0 * number, **V1) for number, row in enumerate(quarter())]

    assert (state(counted), state(quarter(**V1))) == ("active", "held_idle")


def test_a_counter_that_began_anew_tells_nothing():
    counted = [row._replace(energy_j=float(number % 45), **V1) for number, row in enumerate(quarter())]

    assert state(counted) == "held_idle"
