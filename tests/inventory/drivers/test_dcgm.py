"""The page of a dcgm-exporter: what it says is believed, what it leaves out is unknown."""

from dataclasses import replace

import pytest

from inventory.drivers.base import Order, Value
from inventory.drivers.dcgm_page import AGE_S, BadPage, read_page
from inventory.errors import NodeRefused, NodeUnreachable
from tests.inventory.drivers.worlds import PAGE, dcgm_world
from tests.shared import shared_data

CARD = 'UUID="GPU-a",pci_bus_id="00000000:53:00.0",modelName="NVIDIA A100"'
INSTANCE = f'{CARD},GPU_I_PROFILE="1g.5gb",GPU_I_ID="7"'


@pytest.fixture
def world(tmp_path):
    yield from dcgm_world(tmp_path)


def read(page: str):
    return read_page(page.encode(), node="n0", sequence=1).gpus


def test_a_field_that_is_missing_for_one_gpu_is_unknown_there_and_not_zero():
    busy, quiet = read(PAGE)

    assert (busy.util_pct, busy.power_w) == (Value(97, None, AGE_S), Value(612.5, None, AGE_S))
    assert (quiet.util_pct, quiet.power_w) == (Value(0, None, AGE_S), Value(None, "not_reported", 0.0))


def test_holder_and_processes_are_unknown_and_not_none():
    [gpu, _] = read(PAGE)

    assert (gpu.holder, gpu.processes, gpu.generation) == (None, None, 0)


@pytest.mark.parametrize("value", ["4294967295", "808334905", "NaN", "-1"])
def test_a_use_that_cannot_be_is_unknown(value):
    """NVIDIA/DCGM#199, NVIDIA/dcgm-exporter#418."""
    [gpu] = read(f"DCGM_FI_DEV_GPU_UTIL{{{CARD}}} {value}\n")

    assert gpu.util_pct == Value(None, "implausible", AGE_S)


def test_the_use_of_a_card_that_is_cut_into_instances_is_unknown_and_never_idle():
    """NVIDIA/dcgm-exporter#105, #216, #430, #50."""
    card, instance = read(f"DCGM_FI_DEV_GPU_UTIL{{{CARD}}} 0\nDCGM_FI_DEV_GPU_UTIL{{{INSTANCE}}} 0\n")

    assert (card.kind, instance.kind, instance.parent_uuid) == ("gpu", "mig", "GPU-a")
    assert (card.util_pct, instance.util_pct) == (Value(None, "mig", AGE_S), Value(None, "mig", AGE_S))


def test_an_instance_is_as_busy_as_its_profiling_field_says_and_brings_its_card_along():
    card, instance = read(f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{INSTANCE}}} 0.42\n")

    assert instance.util_pct == Value(42, None, AGE_S)
    assert (card.uuid, card.util_pct.value) == ("GPU-a", None)


def test_energy_memory_and_engines_come_in_our_units():
    [gpu] = read(
        f"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{CARD}}} 5000\n"
        f"DCGM_FI_DEV_FB_USED{{{CARD}}} 100\nDCGM_FI_DEV_FB_FREE{{{CARD}}} 39800\n"
        f"DCGM_FI_DEV_FB_RESERVED{{{CARD}}} 600\n"
        f"DCGM_FI_DEV_ENC_UTIL{{{CARD}}} 0\nDCGM_FI_DEV_DEC_UTIL{{{CARD}}} 31\n"
    )

    assert (gpu.energy_j.value, gpu.memory_total_mib, gpu.mem_used_mib.value) == (5, 40_500, 100)
    assert gpu.engine_pct.value == 31


def test_a_restarted_exporter_is_another_boot():
    before = read_page(f"process_start_time_seconds 1000\n{PAGE}".encode(), node="n0", sequence=1)
    after = read_page(f"process_start_time_seconds 2000\n{PAGE}".encode(), node="n0", sequence=2)

    assert (before.boot_id, after.boot_id) == ("dcgm-1000", "dcgm-2000")


@pytest.mark.parametrize(
    "page", [b"", b"<html>", b"\xff\xfe", b"go_goroutines 7\n", b'DCGM_FI_DEV_GPU_UTIL{UUID="a\\nb"} 1\n', b"x{ 1\n"]
)
def test_another_page_is_a_bad_page_and_nothing_worse(page):
    with pytest.raises(BadPage):
        read_page(page, node="n0", sequence=1)


def test_an_exporter_takes_no_orders(world):
    with pytest.raises(NodeRefused) as refused:
        world.ensure("GPU-a", Order("deep-sea", 1))

    assert refused.value.node_code == "observes_only"


def test_a_token_is_not_sent_in_the_clear(world):
    plain = replace(world.node, address=world.node.address.replace("https", "http"))

    with pytest.raises(NodeUnreachable) as refused:
        world.run(world.driver.observe(plain))

    assert refused.value.detail == "a token needs an address that starts with https://"


def test_the_page_of_a_real_node_of_eight_cards_is_read():
    observation = read_page(
        (shared_data() / "samples" / "dcgm_h100_8gpu.prom").read_bytes(), node="gpu-node-01", sequence=1
    )

    assert (observation.driver, len(observation.gpus), observation.mode) == ("580.105.08", 8, "observe")
    assert {gpu.model for gpu in observation.gpus} == {"NVIDIA H100 80GB HBM3"}
    assert sum(gpu.util_pct.value == 0 for gpu in observation.gpus) == 8
