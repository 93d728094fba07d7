"""Readings: the newest one stays, history keeps all, and unknown stays unknown."""

import json
from datetime import UTC, date, datetime

import pytest
from django.db import DataError

from inventory.drivers.base import Observed, ProcessSeen, Value
from inventory.models import Gpu, Reading, ReadingHistory
from inventory.node_agent.protocol import parse_observation
from inventory.survey import Answer
from tests import factories
from tests.inventory.survey.seen import NOON, card, instance, later, said, silent, survey

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ten_seconds(settings):
    settings.POLL_INTERVAL_S = 10


@pytest.fixture
def node():
    return factories.node("n1", gpus=1, cards=0)


def test_a_reading_says_what_the_node_said_and_when_it_was_asked(node):
    made = survey(said(node, card(holder="apollo", util=63.0, generation=4, draining=True), sequence=7))

    reading = Reading.objects.get()
    assert (reading.survey, reading.requested_at, reading.boot_id, reading.sequence) == (made, NOON, "boot-1", 7)
    assert (reading.holder, reading.generation, reading.draining) == ("apollo", 4, True)
    assert (reading.util_pct, reading.mem_used_mib, reading.power_w, reading.temperature_c) == (63.0, 12, 70.5, 30.0)
    assert (reading.running, reading.processes, reading.reasons) == (0, [], {})
    assert (made.nodes_asked, made.nodes_answered, made.gpus_seen) == (1, 1, 1)


def test_what_the_database_refuses_while_readings_come_in_is_an_error_of_django(node):
    too_large = card(generation=2**70)

    with pytest.raises(DataError):
        survey(said(node, too_large))


def test_all_that_the_wire_says_of_a_gpu_is_stored(node):
    values = {"util_peak_pct": 100, "engine_pct": 3, "energy_j": 5_000_000.5, "mem_reserved_mib": 551}
    told = {name: Value(value, None, 0.0) for name, value in (values | {"power_limit_w": 700}).items()}
    ada = ProcessSeen(4242, "ada", 1_700_000_000.0, 71_680, 1005, "python3", "slurm:123", zombie=False, allowed=True)
    seen = card(**told, minor=4, serial="1650321", processes=(ada,), open_to=(1005, 1006), access_revision=3)

    survey(said(node, seen))

    reading, past, gpu = Reading.objects.get(), ReadingHistory.objects.get(), Gpu.objects.get()
    assert {name: getattr(reading, name) for name in values} == values
    assert (reading.power_limit_w, reading.open_to, reading.access_revision) == (700, [1005, 1006], 3)
    assert reading.processes == [
        {"pid": 4242, "user": "ada", "started_at_s": 1_700_000_000.0, "mem_mib": 71_680, "uid": 1005,
         "name": "python3", "job": "slurm:123", "zombie": False, "allowed": True}
    ]  # fmt: skip
    assert (past.util_peak_pct, past.engine_pct, past.energy_j) == (100, 3, 5_000_000.5)
    assert (gpu.minor, gpu.serial, gpu.unified_memory) == (4, "1650321", False)


def test_a_device_number_that_changed_with_a_boot_is_told_and_what_an_agent_leaves_out_stays(node):
    """PrincetonUniversity/jobstats#34: the index is not N of /dev/nvidiaN."""
    survey(said(node, card(minor=4, serial="1650321")))
    survey(said(node, card(minor=0), at=later(10)), at=later(10))

    survey(said(node, card(), at=later(20)), at=later(20))

    gpu = Gpu.objects.get()
    assert (gpu.minor, gpu.serial) == (0, "1650321")


def test_an_agent_of_the_first_version_is_served_and_what_it_never_heard_of_is_unknown(node):
    wire = {
        "protocol": 1, "node": "n1", "boot_id": "b", "sequence": 1,
        "gpus": [{
            "uuid": "GPU-a", "pci_bus_id": "00000000:01:00.0", "kind": "gpu", "parent_uuid": None, "model": "H100",
            "memory_total_mib": 81_559, "lost": False, "holder": "apollo", "generation": 3, "draining": False,
            "values": {
                name: {"value": 5, "reason": None, "age_s": 1}
                for name in ("util_pct", "mem_used_mib", "power_w", "temperature_c")
            },
            "processes": [{"pid": 7, "user": "ada", "started_at_s": 1, "mem_mib": 5}],
        }],
    }  # fmt: skip
    seen = parse_observation(json.dumps(wire).encode())

    survey(Answer(node.pk, Observed(seen, NOON)))

    reading = Reading.objects.get()
    assert (reading.util_pct, reading.util_peak_pct, reading.energy_j, reading.open_to) == (5.0, None, None, None)
    assert (reading.reasons, reading.processes[0]["allowed"]) == ({}, None)
    node.refresh_from_db()
    assert (node.said_mode, node.agent_version, node.cards_on_bus) == ("enforce", "", None)


def test_what_is_not_known_is_null_with_its_reason_and_never_zero(node):
    survey(said(node, card(util=None, processes=None)))

    reading = Reading.objects.get()
    assert (reading.util_pct, reading.running, reading.processes) == (None, None, None)
    assert reading.reasons == {"util_pct": "not supported"}


def test_values_that_the_probe_measured_long_ago_are_unknown(node):
    survey(said(node, card(util=0.0, age_s=30.5)))

    reading = Reading.objects.get()
    assert (reading.util_pct, reading.mem_used_mib) == (None, None)
    assert set(reading.reasons.values()) == {"stale"}


def test_an_instance_without_utilisation_is_unknown_and_hangs_on_its_card(node):
    parent = card("GPU-a")
    survey(said(node, instance("MIG-1", parent), parent))

    gpu = Gpu.objects.get(uuid="MIG-1")
    assert (gpu.parent.uuid, gpu.kind, gpu.reading.util_pct) == ("GPU-a", "mig", None)


def test_a_newer_reading_replaces_the_one_before_and_history_keeps_both(node):
    survey(said(node, card(holder="apollo", util=1.0)))
    survey(said(node, card(holder="borealis", util=2.0), at=later(10)), at=later(10))

    assert list(Reading.objects.values_list("holder", "requested_at")) == [("borealis", later(10))]
    assert list(ReadingHistory.objects.order_by("requested_at").values_list("holder", "util_pct")) == [
        ("apollo", 1.0),
        ("borealis", 2.0),
    ]


@pytest.mark.parametrize("at", [later(-10), NOON], ids=["asked before", "asked at the same instant"])
def test_an_older_answer_changes_nothing_even_if_it_comes_last(node, at):
    survey(said(node, card(holder="apollo", util=1.0), card("GPU-b", 1)))

    survey(said(node, card(holder="borealis", util=99.0), at=at), at=at)

    assert list(Reading.objects.order_by("gpu").values_list("holder", "requested_at")) == [("apollo", NOON), ("", NOON)]
    assert ReadingHistory.objects.count() == 2
    assert Gpu.objects.filter(lost_at=None).count() == 2
    node.refresh_from_db()
    assert node.answered_at == NOON


@pytest.mark.parametrize("sequence", [6, 7])
def test_an_answer_that_was_kept_on_the_way_is_not_believed(node, sequence):
    survey(said(node, card(holder="apollo"), sequence=7))

    survey(said(node, card(holder="borealis"), at=later(10), sequence=sequence), at=later(10))

    assert list(Reading.objects.values_list("holder", "requested_at")) == [("apollo", NOON)]


def test_a_new_boot_counts_its_answers_anew(node):
    survey(said(node, card(holder="apollo"), sequence=7000))

    survey(said(node, card(holder="borealis"), at=later(10), boot="boot-2", sequence=1), at=later(10))

    assert Reading.objects.get().holder == "borealis"
    node.refresh_from_db()
    assert node.boot_id == "boot-2"


def test_a_silent_node_keeps_its_readings_and_they_age(node):
    survey(said(node, card(holder="apollo", util=90.0)))

    survey(silent(node), at=later(10))

    assert list(Reading.objects.values_list("holder", "requested_at")) == [("apollo", NOON)]


def test_readings_of_a_day_without_a_partition_are_kept_too(node):
    long_past = datetime(2019, 5, 5, 12, tzinfo=UTC)

    survey(said(node, card(), at=long_past), at=long_past)

    assert [row.requested_at.date() for row in ReadingHistory.objects.all()] == [date(2019, 5, 5)]
