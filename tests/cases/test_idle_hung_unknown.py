"""Idle, hung, unknown: from readings to what people are asked; nothing is taken, and unknown is no rest."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from allocations import idle, queries
from allocations.models import Assignment, IdleCase
from inventory.judging import judge_units
from inventory.models import Activity, Gpu
from tests import factories
from tests.inventory.spans import read

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
STEP_S = 30
HELD = {"running": 1, "mem_used_mib": 76_000, "util_peak_pct": 0.0, "power_w": 70.0}


@pytest.fixture
def start(time_machine, settings) -> datetime:
    settings.POLL_INTERVAL_S = STEP_S
    now = timezone.now().replace(hour=6, minute=0, second=0, microsecond=0)
    time_machine.move_to(now, tick=False)
    return now


@pytest.fixture
def gpu(lab, start) -> Gpu:
    """A GPU in the hands of protein folding since yesterday."""
    unit = factories.node(gpus=1).gpus.get()
    grant = factories.grant(lab.project, gpus=2, starts_at=start - timedelta(days=1))
    factories.assignment(unit, lab.project, grant=grant, since=start - timedelta(days=1))
    return unit


@pytest.fixture
def live(lab, gpu, start, time_machine):
    """So many minutes go by with such readings; the fleet is judged and the clock asks, every five minutes."""
    clock = {"at": start}

    def pass_by(minutes: int, *, util: float | None = 0.0, is_read: bool = True, **fields) -> None:
        until = clock["at"] + minutes * MINUTE
        while clock["at"] < until:
            clock["at"] += timedelta(seconds=STEP_S)
            if is_read:
                said = {"holder": lab.project.slug, "util": util, **HELD, **fields}
                read(gpu, clock["at"], **said)
            if not (clock["at"] - start).total_seconds() % 300:
                time_machine.move_to(clock["at"], tick=False)
                if is_read:
                    now = {**HELD, **fields, "util_pct": util, "requested_at": clock["at"]}
                    factories.reading(gpu, lab.project.slug, mem_reserved_mib=500, power_limit_w=700.0, **now)
                judge_units(now=clock["at"])
                idle.tend()

    return pass_by


def state() -> str:
    return Activity.objects.get().state


def asked() -> list[str]:
    return list(IdleCase.objects.order_by("pk").values_list("state", flat=True))


def test_busy_for_ten_minutes_and_then_six_hours_at_zero_is_flagged(lab, live):
    """PrincetonUniversity/jobstats#28: one busy sample in the window saved the job for ever."""
    live(10, util=95.0, power_w=600.0, util_peak_pct=100.0)
    live(6 * 60)

    assert (state(), asked()) == ("held_idle", ["again"])


def test_full_memory_with_bursts_of_use_is_low_and_not_idle(lab, live):
    """PrincetonUniversity/job_defense_shield#2: memory at 95 % with bursts of use."""
    for _round in range(9):
        live(9)
        live(1, util=4.0, util_peak_pct=30.0)

    assert (state(), asked()) == ("low", [])
    assert list(queries.low_units().values_list("holder", flat=True)) == ["protein-folding"]


def test_held_with_no_process_for_hours_shows_on_the_map_as_empty_and_in_the_promise_as_held(lab, live, gpu):
    """guilbaults/slurm-job-exporter#65: what no process used was in no list."""
    live(120, running=0, mem_used_mib=2)

    assert state() == "empty"
    assert Assignment.objects.get(gpu=gpu).project == lab.project


def test_zero_use_with_the_memory_held_by_nobody_is_not_free(lab, live):
    """mirage-project/mirage PR#706: zombies held 92 % of the memory."""
    live(30, running=0, mem_used_mib=75_000)

    assert (state(), [unit.source for unit in queries.build_snapshot().units if unit.source == "free"]) == ("ghost", [])


def test_a_slice_without_a_reading_of_its_use_is_unknown_and_never_idle(lab, live):
    """NVIDIA/dcgm-exporter#216: no utilisation under MIG."""
    live(180, util=None, util_peak_pct=None, power_w=None)

    assert (state(), asked()) == ("unknown", [])


def test_rest_during_a_declared_checkpoint_is_left_alone(lab, live, start):
    """flagos-ai/FlagScale PR#1267: 25 minutes at zero."""
    live(60, util=95.0, power_w=600.0, util_peak_pct=100.0)
    idle.declare_phase(
        project=lab.project, by=lab.lead, reason="A checkpoint.", starts_at=timezone.now(),
        ends_at=timezone.now() + 90 * MINUTE,
    )  # fmt: skip

    live(85)

    assert asked() == []


def test_stale_telemetry_asks_nobody(lab, live):
    """skypilot-org/skypilot#10628: old readings acted upon."""
    live(50)
    live(240, is_read=False)

    assert (state(), asked()) == ("unknown", [])


def test_busy_at_idle_power_is_hung_and_not_busy(lab, live):
    """nebius/soperator#796: 100 % at idle power for 20 minutes."""
    live(30)
    live(25, util=100.0, util_peak_pct=100.0, power_w=75.0)

    assert state() == "hung"


def test_an_answer_keeps_them_until_its_date_and_no_longer(lab, live):
    """microsoft/pai#4266: an administrator may extend; here the owner says why and until when."""
    live(80)
    idle.keep(case=IdleCase.objects.get(), by=lab.lead, reason="Mended tomorrow.", until=timezone.now() + 60 * MINUTE)

    live(55)
    during = asked()
    live(10)
    live(60)

    assert (during, asked()) == (["kept"], ["ended", "warned"])
