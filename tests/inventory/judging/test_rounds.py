"""A round of judging: the fleet's windows are those of each GPU, verdicts stand in rows, and time goes on in them."""

from datetime import timedelta
from random import Random

import pytest

from inventory.activity import Reading, Rules, Unit, window_of
from inventory.judging import judge_units, rounds
from inventory.judging.windows import cases
from inventory.models import Activity, Gpu, Node
from inventory.survey import store_survey
from tests import factories, races
from tests.inventory.spans import read
from tests.inventory.survey.seen import NOON, card, later, said

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def ten_seconds(settings):
    settings.POLL_INTERVAL_S = 10


def quarter(gpu, *, until=NOON, **fields):
    """A quarter of an hour of readings that end at that instant, and the newest of them as the current one."""
    fields = {"mem_used_mib": 40_000, "running": 1, "util_peak_pct": 0.0, "power_w": 70.0, "util": 0.0} | fields
    for seconds_ago in range(890, -1, -10):
        read(gpu, until - timedelta(seconds=seconds_ago), **fields)
    held = {"util_pct": fields.pop("util"), "mem_reserved_mib": 500, "power_limit_w": 700.0} | fields
    factories.reading(gpu, held.pop("holder", "apollo"), requested_at=until, **held)


def states():
    return dict(Activity.objects.values_list("gpu__uuid", "state"))


def test_every_gpu_in_use_has_a_verdict_with_its_figures_and_why():
    busy, idle, never, gone = factories.node(gpus=4).gpus.order_by("pk")
    quarter(busy, util=90.0, power_w=600.0)
    quarter(idle)
    Gpu.objects.filter(pk=gone.pk).update(retired_at=NOON)
    factories.node(gpus=1, retired_at=NOON)

    assert judge_units(now=NOON) == 3

    assert states() == {busy.uuid: "active", idle.uuid: "held_idle", never.uuid: "unknown"}
    row = Activity.objects.get(gpu=idle)
    assert (row.since, row.judged_at, row.holder, row.coverage_pct) == (later(-890), NOON, "apollo", 100.0)
    assert (row.util_mean_pct, row.util_max_pct, row.power_mean_w, row.idle_power_w) == (0.0, 0.0, 70.0, 70.0)
    assert row.why == "nothing ran in 90 readings: 0 % on average, 70 W"


def test_what_goes_on_keeps_its_beginning_from_round_to_round():
    gpu = factories.node(gpus=1).gpus.get()
    quarter(gpu)
    judge_units(now=NOON)
    for second in range(10, 70, 10):
        read(gpu, later(second), mem_used_mib=40_000, running=1, util_peak_pct=0.0, power_w=70.0)
    factories.reading(gpu, "apollo", requested_at=later(60))

    judge_units(now=later(60))

    assert list(Activity.objects.values_list("state", "since", "judged_at")) == [("held_idle", later(-890), later(60))]


def test_a_new_boot_of_the_agent_begins_the_clock_anew():
    gpu = factories.node(gpus=1).gpus.get()
    quarter(gpu)
    judge_units(now=NOON)
    Node.objects.update(boot_since=later(-100))

    judge_units(now=later(1))

    assert Activity.objects.get().state == "unknown"


def test_a_survey_that_meets_another_boot_says_since_when():
    node = factories.node("n1", gpus=1, cards=0)
    for number, boot in enumerate(("boot-1", "boot-1", "boot-2", "boot-2")):
        store_survey([said(node, card(), at=later(10 * number), boot=boot)], started_at=later(10 * number))

    node.refresh_from_db()
    assert (node.boot_id, node.boot_since) == ("boot-2", later(20))


def test_what_rest_draws_is_taken_from_its_model_where_the_card_never_rested():
    idle, spinning = factories.node(gpus=2).gpus.order_by("pk")
    quarter(idle)
    quarter(spinning, util=100.0, util_peak_pct=100.0, power_w=75.0)
    judge_units(now=NOON)

    judge_units(now=later(1))

    assert states() == {idle.uuid: "held_idle", spinning.uuid: "hung"}
    assert Activity.objects.get(gpu=spinning).idle_power_w is None


def test_processes_that_are_all_dead_hold_it_as_a_ghost():
    ghost, alive = factories.node(gpus=2).gpus.order_by("pk")
    quarter(ghost, processes=None)
    quarter(alive, processes=None)
    dead, live = {"pid": 1, "user": "ada", "zombie": True}, {"pid": 2, "user": "ada", "zombie": False}
    Gpu.objects.get(pk=ghost.pk).reading.__class__.objects.filter(gpu=ghost).update(processes=[dead])
    Gpu.objects.get(pk=alive.pk).reading.__class__.objects.filter(gpu=alive).update(processes=[dead, live])

    judge_units(now=NOON)

    assert states() == {ghost.uuid: "ghost", alive.uuid: "held_idle"}


def test_an_older_round_changes_nothing():
    gpu = factories.node(gpus=1).gpus.get()
    quarter(gpu)
    judge_units(now=NOON)

    judge_units(now=later(-600))

    assert Activity.objects.get().judged_at == NOON


@pytest.mark.django_db(transaction=True)
def test_of_two_rounds_at_once_one_judges(monkeypatch):
    quarter(factories.node(gpus=1).gpus.get())
    window = races.Window()
    monkeypatch.setattr(rounds, "cases", window.before(rounds.cases))

    outcomes = races.at_once(lambda: judge_units(now=NOON), lambda: judge_units(now=NOON))

    assert (sorted(outcomes), window.met) == ([0, 1], False)


@pytest.mark.parametrize("seed", range(6))
def test_the_fleets_windows_are_those_of_each_gpu(seed):
    """The one statement for all and the definition for one agree, whatever was read."""
    dice, rules, units, read_of = Random(seed), Rules(interval_s=10), {}, {}
    node = factories.node(gpus=6)
    booted_at = dice.choice([None, later(-400)])
    Node.objects.update(boot_since=booted_at)
    for gpu in node.gpus.all():
        shares, reserve = dice.random() < 0.3, dice.choice([None, 500])
        Gpu.objects.filter(pk=gpu.pk).update(unified_memory=shares, lost_at=dice.choice([None, NOON]))
        read_of[gpu.pk], energy_j = [], 0.0
        for seconds_ago in range(1000, -1, -10):
            if dice.random() < 0.2:
                continue
            energy_j = dice.choice([energy_j + 900, energy_j + 900, energy_j + 900, 0.0 if seed == 5 else energy_j])
            fields = {
                "util_peak_pct": dice.choice([None, 0.0, 60.0]),
                "engine_pct": dice.choice([None, 0.0, 7.0]),
                "power_w": dice.choice([None, 70.0, 300.0]),
                "energy_j": dice.choice([None, energy_j]),
                "mem_used_mib": dice.choice([None, 2, 600, 40_000]),
                "running": dice.choice([None, 0, 1]),
            }
            util, holder = dice.choice([None, 0.0, 50.0]), dice.choice(["apollo", "apollo", "borealis", None])
            read(gpu, later(-seconds_ago), util=util, holder=holder, **fields)
            read_of[gpu.pk].append(Reading(at=later(-seconds_ago), holder=holder, util_pct=util, **fields))
        row = factories.reading(gpu, dice.choice(["apollo", "borealis", None]), mem_reserved_mib=reserve)
        gpu.refresh_from_db()
        units[gpu.pk] = Unit(row.holder, booted_at, gpu.lost_at is not None, reserve is not None, shares, None, False)

    begins_at, recent_after = NOON - timedelta(seconds=900), NOON - timedelta(seconds=30)
    found = [case for batch in cases(rules, begins_at=begins_at, recent_after=recent_after, now=NOON) for case in batch]

    assert {case.gpu_id: case.unit for case in found} == units
    for case in found:
        expected = window_of(read_of[case.gpu_id], units[case.gpu_id], rules, now=NOON)
        assert [pytest.approx(value) if isinstance(value, float) else value for value in expected] == list(case.window)
