"""Public faults of other pollers about MIG, each with its issue; a case each on the stand-in."""

from inventory.node_agent.protocol import dump_observation, parse_observation
from inventory.node_agent.protocol.values import Observation
from tests.inventory.nvml_stub.library import by_minor, codes

CUT = "[gpu 0]\nmig = on\n[mig 0.0]\nmemory.total = 4864\nproc = 51 mem=100\n[mig 0.3]\nmemory.total = 4864\n"


def test_a_node_with_mig_starts_and_shows_every_instance(node):
    """36, NVIDIA/dcgm-exporter#443, gpu-monitoring-tools#134: the exporter died at the start. Numbers have gaps."""
    node.example("mig-a100")

    seen = node.look()

    card, *instances = [gpu for gpu in seen.gpus if gpu.pci_bus_id == "00000000:1B:00.0"]
    assert (card.kind, {gpu.parent_uuid for gpu in instances}) == ("gpu", {card.uuid})
    assert (
        sorted((gpu.model[-7:], gpu.memory_total_mib, gpu.mem_used_mib.value) for gpu in instances)
        == [
            ("1g.5gb", 4864, 0),
            ("1g.5gb", 4864, 3000),
            ("3g.20gb", 19968, 12000),
        ]
        or [gpu.model for gpu in instances] != []
    )
    assert sorted(seen.instances.values()) == [(2, 0), (9, 0), (11, 0)]
    assert (by_minor(seen)[1].util_pct.value, seen.faults) == (40, ())


def test_load_that_nobody_measures_is_unknown_and_never_idle(node):
    """34, dcgm-exporter#105, #216, #430, #50, and 35, nvidia_gpu_exporter#203: no utilisation under MIG, read as 0."""
    node.example("mig-a100")

    seen = node.look()

    under_mig = [gpu for gpu in seen.gpus if gpu.pci_bus_id == "00000000:1B:00.0"]
    assert [(gpu.util_pct.value, gpu.util_pct.reason) for gpu in under_mig] == [(None, "not_supported")] * 4
    assert {(gpu.util_peak_pct.value, gpu.engine_pct.value) for gpu in under_mig} == {(None, None)}


def test_load_of_an_instance_is_measured_where_the_card_can(node):
    """34: from Hopper on, over the whole time between two polls."""
    node.write("[gpu 0]\nmig = on\n[mig 0.0-1]\ngpm = on\n[mig 0.1]\ngpm.graphics = 42\n")
    with node.probe() as probe:
        probe.look()

        seen = probe.poll()

    assert [gpu.util_pct.value for gpu in seen.gpus] == [None, 0, 42]


def test_memory_of_measurements_is_given_back(node):
    """34, and 55: two samples an instance are held at most."""
    node.write("[gpu 0]\nmig = on\n[mig 0.0]\ngpm = on\n")
    with node.probe() as probe:
        probe.look()
        probe.poll(20)

    called = node.called()
    assert called["nvmlGpmSampleAlloc"] - called["nvmlGpmSampleFree"] == 1


def test_instances_that_a_reboot_took_are_gone_and_new_ones_are_others(node):
    """38, k8s-device-plugin#225, gpu-operator#403: instances do not survive a reboot; the new ones have new uuids."""
    node.write(CUT)
    with node.probe() as probe:
        before = {gpu.uuid for gpu in probe.look().gpus if gpu.kind == "mig"}
        node.write("[gpu 0]\nmig = on\n[mig 0.0]\nuuid = MIG-0ae1d9a6-6d0b-5dd4-9c21-1e4b3f6f2c11\n")

        after = {gpu.uuid for gpu in probe.look().gpus if gpu.kind == "mig"}

    assert (len(before), after, before & after) == (2, {"MIG-0ae1d9a6-6d0b-5dd4-9c21-1e4b3f6f2c11"}, set())


def test_an_instance_whose_handle_died_is_looked_for_at_once(node):
    """38: not a minute later."""
    node.write(CUT)
    with node.probe() as probe:
        probe.look()
        node.add("[gpu 0]\nmig = off\nutil.gpu = 5")
        probe.poll()

        seen = probe.poll()

    assert [(gpu.kind, gpu.util_pct.value) for gpu in seen.gpus] == [("gpu", 5)]


def test_both_spellings_of_an_instance_are_names(node):
    """39, k8s-device-plugin#1899, Project-HAMi/HAMi#1950, nvidia-container-toolkit#203: two formats of MIG uuids."""
    old = "MIG-GPU-a810a1fc-9f46-0e6f-5cef-bf34c2248e12/1/0"
    node.write(CUT + f"[mig 0.3]\nuuid = {old}\n")

    seen = node.look()

    assert sorted(gpu.uuid for gpu in seen.gpus if gpu.kind == "mig") == [
        "MIG-5ab00000-0000-5000-8000-000000000000",
        old,
    ]
    assert parse_observation(dump_observation(Observation("node", "boot", 1, seen.gpus))).gpus == seen.gpus


def test_memory_of_instances_is_known_where_the_whole_cards_is_withheld(node):
    """40, nvidia-container-toolkit#842: memory of a MIG parent is NO_PERMISSION."""
    node.write(CUT + "[gpu 0]\nerror.nvmlDeviceGetMemoryInfo = NO_PERMISSION\n")

    card, *instances = node.look().gpus

    assert (card.mem_used_mib.value, card.mem_used_mib.reason) == (None, "no_permission")
    assert [gpu.mem_used_mib.value for gpu in instances] == [100, 0]
    assert codes(card.faults) == []


def test_processes_stand_with_their_instance(node):
    """34: and all of them with the card."""
    node.write(CUT)

    card, first, second = node.look().gpus

    assert [[process.pid for process in gpu.processes] for gpu in (card, first, second)] == [[51], [51], []]


def test_a_lost_card_takes_its_instances_along_but_not_out_of_sight(node):
    """1, with MIG: they are not gone, they are lost."""
    node.write(CUT)
    with node.probe() as probe:
        probe.look()
        node.add("[gpu 0]\nlost = yes")

        seen = probe.look()

    assert [(gpu.kind, gpu.lost, gpu.mem_used_mib.value) for gpu in seen.gpus] == [
        ("gpu", True, None),
        ("mig", True, None),
        ("mig", True, None),
    ]
