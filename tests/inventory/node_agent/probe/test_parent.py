"""The parent: it polls by itself, forgets what is too old, renews the child, and outlives its own faults."""

import asyncio
import io
import time
from pathlib import Path

import pytest

from inventory.node_agent.probe import reader as reading
from inventory.node_agent.probe import rows
from inventory.node_agent.probe.cards import Card
from inventory.node_agent.probe.known import Known
from inventory.node_agent.protocol import dump_observation, parse_observation
from inventory.node_agent.protocol.values import Observation
from tests.inventory.nvml_stub.library import SLOTS, codes


def test_it_polls_by_itself(node):
    node.write("[gpu 0]\nutil.gpu = 1\n")
    with node.probe(poll_every_s=0.02) as probe:
        probe.look()
        node.add("[gpu 0]\nutil.gpu = 2")
        deadline_s = time.monotonic() + 30

        while probe.probe.seen().gpus[0].util_pct.value != 2 and time.monotonic() < deadline_s:
            probe.runner.run(asyncio.sleep(0.02))

        assert probe.probe.seen().gpus[0].util_pct.value == 2


@pytest.mark.parametrize("name", ["h100x8", "mig-a100", "lost-gpu", "mismatch", "gb10"])
def test_what_is_seen_goes_over_the_wire_as_it_is(node, name):
    node.example(name)
    node.plug(*SLOTS)

    seen = node.look()

    sent = Observation("node", "boot", 1, seen.gpus, "observe", "1", seen.driver, seen.cards_on_bus, seen.faults)
    assert parse_observation(dump_observation(sent)) == sent


def test_process_lists_that_are_too_old_are_unknown(node, monkeypatch):
    """The wire has no age for them, so that nobody could tell."""
    node.write("[gpu 0]\nproc = 4242 mem=1\n")
    with node.probe() as probe:
        fresh = probe.look().gpus[0].processes
        monkeypatch.setattr(rows, "LISTED_MOST_S", 0.0)

        old = probe.probe.seen().gpus[0].processes

    assert (len(fresh), old) == (1, None)


def test_a_child_of_six_hours_is_replaced_and_nothing_is_forgotten(node):
    node.write("[gpu 0]\nutil.gpu = 7\nremap.pending = yes\n")
    with node.probe(renew_every_s=0.0) as probe:
        first = probe.look().gpus[0]

        second = probe.look().gpus[0]

    assert node.called()["nvmlInitWithFlags"] == 2
    assert (second.util_pct.value, second.faults) == (7, first.faults)


def test_a_driver_that_was_reloaded_is_started_afresh(node):
    """All cards fail with the old handles; a new child has new ones."""
    node.write("[gpu 0-1]\nutil.gpu = 7\n")
    with node.probe() as probe:
        probe.look()
        node.add("[gpu 0-1]\nerror.nvmlDeviceGet* = GPU_IS_LOST")
        lost = probe.look().gpus
        node.write("[gpu 0-1]\nutil.gpu = 9\n")

        back = probe.look().gpus

    assert ([gpu.lost for gpu in lost], [(gpu.util_pct.value, gpu.lost) for gpu in back]) == (
        [True, True],
        [(9, False), (9, False)],
    )
    assert node.called()["nvmlInitWithFlags"] == 2


def test_cards_that_stay_missing_do_not_cost_a_child_each_poll(node):
    node.write("[gpu 0-1]\n")
    node.plug(*SLOTS[:3])
    with node.probe() as probe:
        probe.look()
        probe.poll(5)

        seen = probe.probe.seen()

    assert (codes(seen.faults), node.called()["nvmlInitWithFlags"]) == (["cards_missing"], 2)


def test_a_fault_of_the_parent_itself_ends_nothing(node, monkeypatch):
    node.write("[gpu 0]\nutil.gpu = 1\n")
    unit = Known.unit
    with node.probe() as probe:
        probe.look()
        monkeypatch.setattr(Known, "unit", lambda known, said: said["nothing"])
        node.add("[gpu 0]\nutil.gpu = 2")
        stale = probe.look().gpus[0].util_pct
        monkeypatch.setattr(Known, "unit", unit)

        fresh = probe.look().gpus[0].util_pct

    assert (stale.value, fresh.value) == (1, 2)
    assert stale.age_s > fresh.age_s


def test_lists_and_health_are_never_due_in_one_poll_and_neither_starves(monkeypatch):
    reader, card = reading.Reader(io.StringIO(), Path()), Card(0, None, uuid="GPU-1")
    now_s = [1000.0]
    monkeypatch.setattr(reading.time, "monotonic", lambda: now_s[0])
    due = []
    for every_s in (15.0, 30.0):
        reader._listed_s, reader._health_s = {card.uuid: now_s[0]}, {card.index: now_s[0]}
        for _ in range(40):
            now_s[0] += every_s
            health, lists = reader._health_due(card), reader._lists_due(card)
            if health:
                reader._health_s[card.index] = now_s[0]
            if lists:
                reader._listed_s[card.uuid] = now_s[0]
            due.append((every_s, health, lists))

    assert (15.0, True, True) not in due
    assert [sum(health for at_s, health, _ in due if at_s == every_s) for every_s in (15.0, 30.0)] == [9, 10]
    assert [sum(lists for at_s, _, lists in due if at_s == every_s) for every_s in (15.0, 30.0)] == [20, 40]
