"""The simulated fleet: it remembers, it breaks as told, and its use looks like life."""

import asyncio
import csv
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from statistics import mean

import pytest

from inventory.drivers import loop
from inventory.drivers.agent import AgentDriver
from inventory.drivers.base import NodeAddress, Observed, Order, UnitOrder
from inventory.errors import NodeUnreachable
from inventory.simulator import (
    Control,
    ControlRefused,
    SimNode,
    SimulatedFleet,
    certificate_in,
    gpu_uuid,
    in_background,
)
from inventory.simulator.life import PHASE_S, SAMPLE_S, use_of
from tests.fakes import Clock
from tests.inventory.simulated import simulated

TRACES = Path(__file__).parents[2].parent / "shared" / "data" / "util_percentiles_acme_philly.csv"


@pytest.fixture(autouse=True)
def closed_after():
    yield
    loop.close()


def seen(node: NodeAddress):
    [(_, answer)] = loop.observe_many([node])
    if not isinstance(answer, Observed):
        raise answer
    return answer.observation


def order(node: NodeAddress, uuid: str, order: Order):
    [answer] = loop.ensure_many([UnitOrder(node, uuid, order)])
    return answer


def holders(node: NodeAddress) -> list[tuple[str, int]]:
    return [(gpu.holder, gpu.generation) for gpu in seen(node).gpus]


def use(habit="life", holder="deep-sea", now_s=1_800_000_000.0, uuid="GPU-1", model="NVIDIA A100"):
    return use_of(uuid=uuid, model=model, memory_mib=81_920, holder=holder, habit=habit, now_s=now_s)


def test_a_restart_remembers_orders_devices_and_drains(tmp_path):
    clock = Clock()
    with simulated(tmp_path, gpus=3, clock=clock) as world:
        first, second, third = world.uuids("n0")
        for uuid in (first, second):
            order(world.node("n0"), uuid, Order("deep-sea", 4, 2, (1005,)))
        order(world.node("n0"), second, Order("sky", 6))
        address = world.node("n0").address
    loop.close()

    with simulated(tmp_path, gpus=3, clock=clock) as world:
        node = world.node("n0")
        before = holders(node)
        refused = order(node, second, Order("deep-sea", 5))
        clock.advance(10)

        assert node.address == address
        assert before == [("deep-sea", 4), ("deep-sea", 4), ("", 0)]
        assert refused.node_code == "older_generation"
        assert holders(node) == [("deep-sea", 4), ("sky", 6), ("", 0)]
        assert {process.user for process in seen(node).gpus[0].processes} == {"1005"}


def test_a_restart_remembers_what_is_broken(tmp_path):
    with simulated(tmp_path, nodes=4) as world:
        world.control.kill("n0")
        world.control.hang("n1")
        world.control.disobey("n2")
        world.control.lose(world.uuids("n3")[0])
        fresh = world.control.replace_card(world.uuids("n3")[1])
        world.control.set_habit("deep-sea", "idle")

    with simulated(tmp_path, nodes=4) as world:
        nodes = world.control.fleet()["nodes"]

        assert [(node["condition"], node["obeys"]) for node in nodes] == [
            ("killed", True),
            ("hung", True),
            ("up", False),
            ("up", True),
        ]
        assert [(gpu["uuid"], gpu["lost"]) for gpu in nodes[3]["gpus"]] == [(gpu_uuid("n3", 0), True), (fresh, False)]
        assert world.fleet._around.habits == {"deep-sea": "idle"}


def test_uuids_and_slots_are_the_same_in_every_fleet(tmp_path):
    with simulated(tmp_path / "a") as one, simulated(tmp_path / "b") as other:
        assert one.uuids("n0") == other.uuids("n0") == [gpu_uuid("n0", 0), gpu_uuid("n0", 1)]
        assert [gpu.pci_bus_id for gpu in seen(one.node("n0")).gpus] == ["00000000:10:00.0", "00000000:11:00.0"]


def test_a_replaced_card_is_a_stranger_in_the_same_slot(tmp_path):
    with simulated(tmp_path) as world:
        node, old = world.node("n0"), world.uuids("n0")[0]
        order(node, old, Order("deep-sea", 3))

        fresh = world.control.replace_card(old)
        refused = order(node, old, Order("deep-sea", 4))
        card = seen(node).gpus[0]

        assert refused.node_code == "unknown_gpu"
        assert (card.uuid, card.pci_bus_id, card.holder, card.generation) == (fresh, "00000000:10:00.0", "", 0)
        assert order(node, fresh, Order("sky", 1)).state == "switched"


def test_a_lost_gpu_can_be_found_again(tmp_path):
    with simulated(tmp_path) as world:
        uuid = world.uuids("n0")[0]
        order(world.node("n0"), uuid, Order("deep-sea", 3))
        world.control.lose(uuid)
        lost = seen(world.node("n0")).gpus[0]
        world.control.find(uuid)
        found = seen(world.node("n0")).gpus[0]

        assert (lost.lost, lost.power_w.value, found.lost, found.holder) == (True, None, False, "deep-sea")


def test_a_killed_node_comes_back_under_its_port_with_a_new_boot(tmp_path):
    with simulated(tmp_path, nodes=2) as world:
        node = world.node("n0")
        order(node, world.uuids("n0")[0], Order("deep-sea", 3))
        first = seen(node)
        world.control.kill("n0")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", world.fleet.nodes["n0"].port), timeout=5)
        neighbour = seen(world.node("n1"))
        world.control.revive("n0")
        second = seen(node)

        assert first.boot_id != second.boot_id
        assert (second.sequence, second.gpus[0].holder, neighbour.node) == (1, "deep-sea", "n1")


def test_a_reboot_ends_what_a_drain_waits_for(tmp_path):
    with simulated(tmp_path, drain_s=1e6) as world:
        node, uuid = world.node("n0"), world.uuids("n0")[0]
        order(node, uuid, Order("deep-sea", 1))
        draining = order(node, uuid, Order("sky", 2))
        world.control.kill("n0")
        world.control.revive("n0")

        assert draining.state == "draining"
        assert holders(node)[0] == ("sky", 2)


def test_a_hung_node_answers_again_after_it_was_revived(tmp_path):
    with simulated(tmp_path) as world:
        before = seen(world.node("n0")).boot_id
        world.control.hang("n0")
        world.control.revive("n0")

        assert seen(world.node("n0")).boot_id != before


def test_a_hung_node_keeps_nothing_of_callers_that_gave_up(tmp_path):
    with simulated(tmp_path) as world:
        world.control.hang("n0")

        async def ask_in_vain():
            driver = AgentDriver(request_timeout_s=0.2)
            with pytest.raises(NodeUnreachable):
                await driver.observe(world.node("n0"))
            await driver.close()

        asyncio.run(ask_in_vain())
        deadline_s = time.monotonic() + 10
        while world.fleet.nodes["n0"]._server.connections and time.monotonic() < deadline_s:
            time.sleep(0.01)

        assert world.fleet.nodes["n0"]._server.connections == []


def test_a_disobedient_node_that_is_put_right_carries_out_its_last_order(tmp_path):
    with simulated(tmp_path) as world:
        node, uuid = world.node("n0"), world.uuids("n0")[0]
        world.control.disobey("n0")
        order(node, uuid, Order("deep-sea", 1))
        order(node, uuid, Order("sky", 2))
        disobeyed = world.control.gpus()[uuid]
        world.control.obey("n0")

        assert (disobeyed["holder"], disobeyed["ordered_holder"], disobeyed["ordered_generation"]) == ("", "sky", 2)
        assert holders(node)[0] == ("sky", 2)


def test_without_drain_time_a_switch_is_at_once(tmp_path):
    with simulated(tmp_path, drain_s=4) as world:
        node, uuid = world.node("n0"), world.uuids("n0")[0]
        order(node, uuid, Order("deep-sea", 1))
        world.control.set_drain(0)

        assert order(node, uuid, Order("sky", 2)).state == "switched"


def test_drains_are_spread_around_the_time_asked_for(tmp_path):
    with simulated(tmp_path, gpus=16, drain_s=100) as world:
        node = world.node("n0")
        orders = [UnitOrder(node, uuid, Order("deep-sea", 1)) for uuid in world.uuids("n0")]
        loop.ensure_many(orders)
        loop.ensure_many([UnitOrder(node, unit.uuid, Order("sky", 2)) for unit in orders])
        ends = [device.drain_ends_at - world.clock() for device in world.fleet.nodes["n0"].devices]

        assert all(50 <= end <= 150 for end in ends)
        assert max(ends) - min(ends) > 20


def test_seeded_holders_are_in_force_and_their_generation_counts(tmp_path):
    with simulated(tmp_path) as world:
        node, (first, second) = world.node("n0"), world.uuids("n0")
        world.control.seed_holders({first: ("deep-sea", 5), second: ("sky", 0)})

        assert holders(node) == [("deep-sea", 5), ("sky", 0)]
        assert order(node, first, Order("sky", 4)).node_code == "older_generation"
        assert order(node, second, Order("sky", 1)).state == "switched"


def test_the_control_port_refuses_strangers_and_what_cannot_happen(tmp_path):
    with simulated(tmp_path) as world:
        stranger = Control(port=world.fleet.desk.port, token="guess")
        for call in (stranger.fleet, lambda: stranger.kill("n0")):
            with pytest.raises(ControlRefused, match="not the control token"):
                call()
        with pytest.raises(ControlRefused, match="the fleet has no n9"):
            world.control.kill("n9")
        with pytest.raises(ControlRefused, match="habit is one of"):
            world.control.set_habit("deep-sea", "lazy")
        with pytest.raises(ControlRefused, match="the fleet has no GPU-0"):
            world.control.seed_holders({"GPU-0": ("deep-sea", 1)})

        assert world.control.fleet()["nodes"][0]["condition"] == "up"


def test_a_taken_port_is_told_and_nothing_stays_open(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        nodes = [SimNode("n0", "NVIDIA A100", 1, 81_920, "t"), SimNode("n1", "NVIDIA A100", 1, 81_920, "t", port=port)]
        fleet = SimulatedFleet(nodes, state=tmp_path)

        with pytest.raises(OSError, match="address already in use"), in_background(fleet):
            pass

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", fleet.nodes["n0"].port), timeout=5)


def test_the_certificate_is_made_once_and_its_key_is_private(tmp_path):
    first, second = certificate_in(tmp_path), certificate_in(tmp_path)

    assert first == second
    assert re.fullmatch("[0-9a-f]{64}", first.sha256)
    assert first.pem.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_process_ends_when_told_and_remembers_also_after_a_kill(tmp_path, number):
    nodes = tmp_path / "nodes.json"
    nodes.write_text(json.dumps([{"name": "n0", "model": "A100", "gpus": 1, "memory_mib": 81_920, "token": "t"}]))

    def start():
        process = subprocess.Popen(
            [sys.executable, "-m", "inventory.simulator", str(nodes), str(tmp_path / "state")],
            env=os.environ | {"SIMULATOR_CONTROL_TOKEN": "control"},
            stderr=subprocess.PIPE,
            text=True,
        )
        port = int(re.search(r"simulated nodes: 1, control port (\d+)", process.stderr.readline())[1])
        return process, Control(port=port, token="control")

    process, control = start()
    address = control.fleet()["nodes"][0]["address"]
    node = NodeAddress("n0", address, "t", certificate_in(tmp_path / "state").sha256)
    order(node, gpu_uuid("n0", 0), Order("deep-sea", 9))
    process.kill()
    process.wait()
    process.stderr.close()

    process, control = start()
    remembered = control.fleet()["nodes"][0]
    process.send_signal(number)
    with process.stderr:
        assert process.wait(timeout=10) == 0

    assert (remembered["address"], remembered["gpus"][0]["holder"]) == (address, "deep-sea")
    assert remembered["gpus"][0]["generation"] == 9


def test_use_is_the_same_for_the_same_card_and_instant():
    assert use() == use()
    assert {use(now_s=1_800_000_000.0 + SAMPLE_S * step).util_pct for step in range(400)} != {use().util_pct}


def test_a_sample_ages_until_the_next_one():
    assert [use(now_s=1_800_000_000.0 + late).age_s for late in (0, 2, 4.5, SAMPLE_S)] == [0, 2, 4.5, 0]


def test_a_free_card_does_nothing():
    cards = [use(holder="", uuid=f"GPU-{index}") for index in range(100)]

    assert {card.util_pct for card in cards} == {0}
    assert 2 <= min(card.mem_used_mib for card in cards) < max(card.mem_used_mib for card in cards) <= 30
    assert max(card.power_w for card in cards) < 0.15 * 400


def test_habits_of_holders():
    samples = {
        habit: [use(habit, now_s=1_800_000_000.0 + SAMPLE_S * step) for step in range(2000)]
        for habit in ("idle", "busy", "stuck")
    }

    assert {sample.util_pct for sample in samples["idle"]} == {0}
    assert min(sample.mem_used_mib for sample in samples["idle"]) > 10_000
    assert min(sample.util_pct for sample in samples["busy"]) > 30
    assert {sample.util_pct for sample in samples["stuck"]} == {100}
    assert max(sample.power_w for sample in samples["stuck"]) < 0.2 * 400


def test_power_follows_use_and_stays_within_the_board():
    samples = [use(uuid=f"GPU-{index}", now_s=1_800_000_000.0 + 997 * index) for index in range(3000)]
    resting = mean(sample.power_w for sample in samples if sample.util_pct == 0)
    working = mean(sample.power_w for sample in samples if sample.util_pct > 90)

    assert working > 4 * resting
    assert max(sample.power_w for sample in samples) <= 400
    assert all(20 <= sample.temperature_c <= 90 for sample in samples)


def lifelike() -> list[int]:
    """Utilisation of 50 held cards over two days, sorted: one sample in a minute."""
    start = 1_800_000_000
    return sorted(
        use(uuid=f"GPU-{card}", now_s=float(start + 60 * minute)).util_pct
        for card in range(50)
        for minute in range(2 * 24 * 60)
    )


def test_a_quarter_to_a_third_of_samples_is_at_zero():
    samples = lifelike()

    assert 0.25 <= samples.count(0) / len(samples) <= 1 / 3


def test_a_held_card_rests_for_whole_stretches_and_not_by_dice():
    samples = [use(now_s=1_800_000_000.0 + SAMPLE_S * step).util_pct == 0 for step in range(20_000)]
    changes = sum(one != other for one, other in pairwise(samples))

    # Independent samples with three in ten at zero would change 42 times in 100.
    assert changes / len(samples) < 0.2
    assert "1" * (PHASE_S // SAMPLE_S // 2) in "".join(map(str, map(int, samples)))


def test_the_spread_is_that_of_public_traces():
    if not TRACES.exists():
        pytest.skip("the public traces of ../shared/data are not here")
    with TRACES.open() as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "gpu_util_pct"]
    traces: dict[int, list[float]] = {}
    for row in rows:
        traces.setdefault(int(row["percentile"]), []).append(float(row["value"]))
    samples = lifelike()
    ours = {percentile: samples[min(len(samples) - 1, len(samples) * percentile // 100)] for percentile in traces}

    outside = {
        percentile: (ours[percentile], sorted(values))
        for percentile, values in traces.items()
        if not min(values) - 5 <= ours[percentile] <= max(values) + 5
    }

    assert len(traces) == 101
    assert outside == {}


def test_a_card_says_all_that_the_wire_can_carry_and_its_counter_is_its_power_over_time(tmp_path):
    with simulated(tmp_path, gpus=1) as fleet:
        node, [uuid] = fleet.node("n0"), fleet.uuids("n0")
        fleet.control.seed_holders({uuid: ("apollo", 1)})
        fleet.control.set_habit("apollo", "busy")
        first = seen(node)
        fleet.clock.now += 100
        second = seen(node)

    before, after = first.gpus[0], second.gpus[0]
    assert (first.agent, first.driver, first.cards_on_bus, first.mode) == ("simulated", "simulated", 1, "enforce")
    assert (after.power_limit_w.value, after.mem_reserved_mib.value, after.engine_pct.value) == (700, 551, 0)
    assert after.util_peak_pct.value >= after.util_pct.value > 0
    assert after.energy_j.value - before.energy_j.value == pytest.approx(100 * after.power_w.value)
    assert {process.allowed for process in after.processes} == {True}


def test_faults_and_strangers_come_and_go_as_told(tmp_path):
    with simulated(tmp_path, gpus=1) as fleet:
        node, [uuid] = fleet.node("n0"), fleet.uuids("n0")
        fleet.control.seed_holders({uuid: ("apollo", 1)})
        fleet.control.fault(uuid, "ecc_uncorrected", "3 errors")
        fleet.control.intrude(uuid, "eve")
        [sick] = seen(node).gpus
        fleet.control.heal(uuid)
        [well] = seen(node).gpus

    assert [(fault.code, fault.detail) for fault in sick.faults] == [("ecc_uncorrected", "3 errors")]
    assert [process.user for process in sick.processes if process.allowed is False] == ["eve"]
    assert (well.faults, {process.user for process in well.processes}) == ((), {"apollo"})


def test_a_tiny_kernel_each_minute_shows_in_the_peak_alone():
    samples = [
        use_of(uuid="GPU-x", model="H100", memory_mib=81_559, holder="apollo", habit="tiny", now_s=float(second))
        for second in range(1_800_000_000, 1_800_000_600, 5)
    ]

    assert {sample.util_pct for sample in samples} == {0}
    assert [sample.util_peak_pct for sample in samples].count(100) == 10
    assert max(sample.power_w for sample in samples) < 120
