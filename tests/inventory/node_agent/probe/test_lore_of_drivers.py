"""Public faults of other pollers that the driver or the poller itself made, each with its issue."""

import os
import pickle
import time
from pathlib import Path

import pytest

from tests.inventory.nvml_stub.library import SLOTS, by_minor, codes


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("UNKNOWN", "nvml_unknown"),
        ("LIB_RM_VERSION_MISMATCH", "library_mismatch"),
        ("DRIVER_NOT_LOADED", "driver_not_loaded"),
        ("NO_PERMISSION", "nvml_unknown"),
    ],
)
def test_a_node_whose_driver_does_not_start_offers_nothing_and_says_why(node, error, code):
    """49, NVIDIA/k8s-device-plugin#1641: the health check could not start, the node still offered its GPUs."""
    node.write(f"error.nvmlInit = {error}\n[gpu 0-7]\n")
    node.plug(*SLOTS)

    seen = node.look()

    assert (seen.gpus, seen.cards_on_bus, codes(seen.faults)) == ((), 8, [code])


def test_cards_are_no_longer_offered_when_the_driver_stops_starting(node):
    """49: an upgrade under a running agent; what was known before is not offered either."""
    node.write("[gpu 0-7]\n")
    with node.probe() as probe:
        probe.look()
        node.add("[node]\nerror.nvmlInit = LIB_RM_VERSION_MISMATCH")
        probe.replace_child()

        seen = probe.look()

    assert (seen.gpus, codes(seen.faults)) == ((), ["library_mismatch"])


def test_a_node_without_the_library_says_so(node):
    """49: and one on which no driver was ever installed."""
    node.write("[gpu 0]\n")

    seen = node.look(environment={"LD_LIBRARY_PATH": ""})

    assert (seen.gpus, codes(seen.faults)) == ((), ["no_library"])


def test_a_driver_that_starts_later_is_found(node):
    """49: the child starts again, after a pause."""
    node.write("error.nvmlInit = UNKNOWN\n[gpu 0]\n")
    with node.probe(start_again_s=0.0) as probe:
        probe.look()
        node.add("[node]\nerror.nvmlInit = SUCCESS")

        seen = probe.look()

    assert (len(seen.gpus), seen.faults) == (1, ())


def test_a_driver_that_fails_again_and_again_is_not_hammered(node):
    """55: each start of NVML costs; after a failed one there is a pause."""
    node.write("error.nvmlInit = UNKNOWN\n[gpu 0]\n")
    with node.probe() as probe:
        probe.look()
        for _ in range(5):
            seen = probe.look()

    assert (node.called()["nvmlInitWithFlags"], codes(seen.faults)) == (1, ["nvml_unknown"])


def test_a_driver_that_answers_nothing_any_more_leaves_the_cards_unknown(node):
    """51, nvidia-docker#1671, nvidia-container-toolkit#48, #251, #1227: UNKNOWN after a reload, not 0 GPUs."""
    node.example("h100x8")
    with node.probe() as probe:
        probe.look()
        node.add("[node]\nerror.nvmlDevice* = UNKNOWN\n[gpu 0]\nproc = none")

        seen = probe.look()

    assert (len(seen.gpus), codes(seen.faults)) == (8, ["nvml_unknown"])
    # What was known grows old; nothing new is 0.
    assert [gpu.util_pct.value for gpu in seen.gpus] == [97, 97, 0, 0, 0, 0, 0, 0]


def test_every_value_has_its_age(node):
    """52, gpu-monitoring-tools#46, pai#889, ocf/puppet#615: old values of a hung tool were served as fresh."""
    node.write("[gpu 0-1]\nutil.gpu = 60\n")
    with node.probe(card_deadline_s=2.0) as probe:
        probe.look()
        before_s = time.monotonic()
        node.add("[gpu 1]\nhang.nvmlDeviceGetUtilizationRates = forever")
        probe.look()

        fresh, hung = probe.probe.seen().gpus
        since_s = time.monotonic() - before_s

    assert hung.util_pct.age_s > 2.0
    assert fresh.util_pct.age_s < since_s < hung.util_pct.age_s
    assert (codes(fresh.faults), codes(hung.faults)) == ([], ["hung"])


def test_nvml_is_started_once_and_no_descriptor_is_left(node):
    """55, nvidia_gpu_exporter#89, gpustat#54, #166, all-smi#118, pyJoules#50: an init a poll, descriptors leaked."""
    node.write("[gpu 0]\nproc = 4242 mem=1\n")
    node.process(4242)
    with node.probe() as probe:
        probe.look()
        probe.poll(10)
        before = _descriptors(os.getpid()), _descriptors(probe.probe.child_pid)
        asked = node.called()["nvmlDeviceGetUtilizationRates"]

        probe.poll(1000)

        assert (_descriptors(os.getpid()), _descriptors(probe.probe.child_pid)) == before
    called = node.called()
    assert (called["nvmlInitWithFlags"], called["nvmlShutdown"]) == (1, 1)
    assert called["nvmlDeviceGetUtilizationRates"] - asked == 1000
    assert called["nvmlDeviceGetHandleByIndex_v2"] == 1


def test_a_poll_asks_each_card_little(node):
    """56, flightlessmango/MangoHud#2104, #1307, dcgm-exporter#227: polls hold the driver's lock."""
    node.write("[gpu 0-3]\nproc = 4242 mem=1\n")
    with node.probe() as probe:
        probe.look()
        node.trace.unlink()
        probe.poll()
        quiet = node.calls()
        node.trace.unlink()

        probe.look()

    per_card = [sum(device == str(card) for _, device, _ in quiet) for card in range(4)]
    assert per_card == [11] * 4
    # Lists, health and MIG are due together only where somebody asks for everything.
    assert sum(device == "0" for _, device, _ in node.calls()) == 20


def test_what_a_card_does_not_support_is_not_asked_each_time(node):
    """56: nor logged; NOT_SUPPORTED is remembered for ten minutes."""
    node.write("[gpu 0]\npower = N/A\nutil.jpg = N/A\nmemory.total = N/A\n")
    with node.probe() as probe:
        probe.look()
        probe.poll(5)

    called = node.called()
    assert (called["nvmlDeviceGetPowerUsage"], called["nvmlDeviceGetJpgUtilization"]) == (1, 1)
    assert (called["nvmlDeviceGetMemoryInfo_v2"], called["nvmlDeviceGetMemoryInfo"]) == (1, 1)


def test_what_is_seen_is_plain_values(node):
    """dask/distributed#4873, scalene#169, vllm#32611: errors of NVML did not survive a pickle, nor NVML a fork."""
    node.example("lost-gpu")

    seen = node.look()

    assert pickle.loads(pickle.dumps(seen)).gpus == seen.gpus


def test_a_card_that_leaves_shifts_the_others_and_none_is_mistaken(node):
    """58, and 7: keys are uuids; the driver is started again when the bus shows another number."""
    node.write("[gpu 0-3]\n[gpu 2]\nutil.gpu = 22\n[gpu 3]\nutil.gpu = 33\n")
    node.plug(*SLOTS[:4])
    with node.probe() as probe:
        probe.look()
        (node.pci / "0000:43:00.0" / "class").write_text("0xffffff")
        node.add("[gpu 1]\npresent = no")
        probe.look()

        seen = probe.look()

    assert (seen.faults, {minor: gpu.util_pct.value for minor, gpu in by_minor(seen).items()}) == (
        (),
        {0: 0, 2: 22, 3: 33},
    )
    assert node.called()["nvmlInitWithFlags"] == 2


def _descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
