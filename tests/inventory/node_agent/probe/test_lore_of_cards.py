"""Public faults of other pollers that a card made, each with its issue; a case each on the stand-in."""

from inventory.node_agent.probe import asking, loading
from inventory.node_agent.protocol import dump_observation, parse_observation
from inventory.node_agent.protocol.values import Observation
from tests.inventory.nvml_stub.library import SLOTS, by_minor, codes

ONE = "[gpu 0]\n"


def test_a_card_that_fell_off_the_bus_costs_one_row(node):
    """1, XuehaiPan/nvitop#139: one GPU gone from PCIe, and the whole tool died of it."""
    node.example("h100x8")
    with node.probe() as probe:
        probe.look()
        node.add("[gpu 2]\nlost = yes")

        seen = by_minor(probe.look())

    assert [minor for minor, gpu in seen.items() if gpu.lost] == [2]
    assert codes(seen[2].faults) == ["lost"]
    assert [gpu.util_pct.value for gpu in seen.values()] == [97, 97, None, 0, 0, 0, 0, 0]
    assert (seen[2].util_pct.reason, seen[2].mem_used_mib.reason, seen[2].processes) == ("lost", "lost", None)


def test_a_lost_card_is_known_to_a_new_child_too(node):
    """1: its handle is gone, its row is not."""
    node.write("[gpu 0-2]\n")
    with node.probe() as probe:
        probe.look()
        node.add("[gpu 1]\nlost = yes")
        probe.replace_child()

        seen = probe.look()

    assert [(gpu.minor, gpu.lost, codes(gpu.faults)) for gpu in seen.gpus] == [
        (0, False, []),
        (1, True, ["lost"]),
        (2, False, []),
    ]
    assert (seen.gpus[1].util_pct.value, seen.gpus[1].processes, seen.faults) == (None, None, ())


def test_a_card_that_was_lost_before_the_start_is_a_fault_of_the_node(node):
    """2, rossumai/nvgpu#6: GpuIsLost from the handle by index became an error of everything."""
    node.example("lost-gpu")

    seen = node.look()

    assert sorted(by_minor(seen)) == [0, 1, 3]
    assert [(fault.code, fault.detail) for fault in seen.faults] == [
        ("card_unreadable", "card 2: nvmlDeviceGetHandleByIndex answered lost")
    ]


def test_a_card_that_was_lost_before_the_start_has_its_row_where_the_kernel_remembers_it(node):
    """2, rossumai/nvgpu#6: and whose card it is can be said, for the kernel module knows uuid and slot."""
    node.example("lost-gpu")
    node.plug(*SLOTS[:4])
    folder = node.proc / "driver" / "nvidia" / "gpus" / "0000:52:00.0"
    folder.mkdir(parents=True)
    uuid = "GPU-5ab00000-0000-4000-8000-000000000002"
    (folder / "information").write_text(f"Model: \t\t NVIDIA H100\nGPU UUID: \t {uuid}\nDevice Minor: \t 2\n")

    seen = node.look()

    card = by_minor(seen)[2]
    assert (card.uuid, card.pci_bus_id, card.lost, card.util_pct.value) == (uuid, "00000000:52:00.0", True, None)
    assert (codes(card.faults), seen.faults) == (["lost"], ())


def test_a_handle_that_fails_is_a_fault_of_that_card(node):
    """3, NVIDIA/dcgm-exporter#604: "unable to determine the device handle", and nothing to alert on."""
    node.write("[gpu 0-2]\n[gpu 1]\nerror.nvmlDeviceGetHandleByIndex = UNKNOWN\nutil.gpu = 50\n")
    node.plug(*SLOTS[:3])

    seen = node.look()

    # The slot gives the handle that the index does not.
    assert [codes(gpu.faults) for gpu in seen.gpus] == [[], ["handle_failed"], []]
    assert (by_minor(seen)[1].util_pct.value, seen.faults) == (50, ())


def test_a_card_without_any_handle_is_told(node):
    """3, NVIDIA/dcgm-exporter#604: where the slot gives none either."""
    node.write("[gpu 0-2]\n[gpu 1]\nerror.nvmlDeviceGetHandleBy* = UNKNOWN\n")
    node.plug(*SLOTS[:3])

    seen = node.look()

    assert sorted(by_minor(seen)) == [0, 2]
    assert [(fault.code, fault.detail) for fault in seen.faults] == [
        ("card_unreadable", "card 1 (00000000:43:00.0): nvmlDeviceGetHandleByPciBusId answered unknown")
    ]


def test_a_card_that_the_bus_shows_and_the_driver_does_not_is_missing(node):
    """5, aws/eks-node-monitoring-agent#94, and 11, microsoft/pai#4344: 7 of 8, and work was placed on the eighth."""
    node.example("h100x8")
    node.add("[gpu 3]\npresent = no")
    node.plug(*SLOTS)

    seen = node.look()

    assert (len(seen.gpus), seen.cards_on_bus) == (7, 8)
    assert [(fault.code, fault.detail) for fault in seen.faults] == [
        ("cards_missing", "the driver shows 7 of 8 cards: 00000000:61:00.0")
    ]


def test_index_and_minor_are_told_apart(node):
    """7, PrincetonUniversity/jobstats#34, and 8, guilbaults/slurm-job-exporter#64: the wrong card was charged."""
    node.write("[gpu 0-4]\n[gpu 0]\nminor = 4\nutil.gpu = 88\n[gpu 4]\nminor = 0\n")

    seen = by_minor(node.look())

    assert (seen[4].uuid[-1], seen[4].util_pct.value) == ("0", 88)
    assert (seen[0].uuid[-1], seen[0].util_pct.value) == ("4", 0)


def test_healthy_cards_are_polled_while_the_look_up_by_uuid_fails_for_all(node):
    """13, nvml.h: ByUUID may say that a GPU is lost when any is."""
    node.write("uuid_lookup = strict\n[gpu 0-3]\nutil.gpu = 12\n[gpu 1]\nlost = yes\n")

    seen = node.look()

    assert [gpu.util_pct.value for gpu in seen.gpus] == [12, 12, 12]
    assert node.called()["nvmlDeviceGetHandleByUUID"] == 0


def test_a_name_of_garbage_is_replaced_and_the_poll_goes_on(node):
    """14, gpuopenanalytics/pynvml#53, wookayin/gpustat#170: driver 555 gave names that are no UTF-8."""
    node.write("[gpu 0-1]\n[gpu 0]\nname = \\xf8\\x02\nutil.gpu = 9\n")

    seen = node.look()

    assert [gpu.model for gpu in seen.gpus] == ["NVIDIA GPU (name not readable)", "NVIDIA H100 80GB HBM3"]
    assert seen.gpus[0].util_pct.value == 9
    as_sent = Observation("node", "boot", 1, seen.gpus)
    assert parse_observation(dump_observation(as_sent)).gpus == seen.gpus


def test_a_name_that_turns_to_garbage_stays_what_it_was(node):
    """14: a card does not become another model because one answer was bad."""
    node.write(ONE)
    with node.probe() as probe:
        probe.look()
        node.add("[gpu 0]\nname = \\xf8\\x02")
        probe.replace_child()

        seen = probe.look()

    assert seen.gpus[0].model == "NVIDIA H100 80GB HBM3"


def test_the_old_package_is_refused_with_the_sentence_what_to_do(node, tmp_path):
    """15, rossumai/nvgpu#29, dask/distributed#7563: an old package hid the right one; names came as bytes."""
    old = tmp_path / "old" / "pynvml"
    old.mkdir(parents=True)
    (old / "__init__.py").write_text("class NVMLError(Exception): pass\n")
    (tmp_path / "old" / "pynvml-11.4.1.dist-info").mkdir()
    (tmp_path / "old" / "pynvml-11.4.1.dist-info" / "METADATA").write_text("Name: pynvml\nVersion: 11.4.1\n")
    (tmp_path / "old" / "pynvml-11.4.1.dist-info" / "RECORD").write_text("pynvml/__init__.py,,\n")
    node.write(ONE)

    seen = node.look(environment={"PYTHONPATH": str(tmp_path / "old")})

    assert seen.gpus == ()
    [fault] = seen.faults
    assert fault.code == "wrong_pynvml"
    assert fault.detail.endswith("pip uninstall pynvml, then pip install --force-reinstall nvidia-ml-py")


def test_bytes_and_text_are_one_name():
    """15: older bindings answer bytes."""
    said = [asking.words(asking.Answer(value, None, 0.0)) for value in (b"Tesla T4", "Tesla T4", None, 7)]

    assert said == ["Tesla T4", "Tesla T4", "", ""]
    assert loading.package_refusal() is None


def test_the_drivers_reserve_is_nobodys_memory(node):
    """16, wookayin/gpustat#141, #116, #130: an idle GPU showed 100 to 300 MB used."""
    node.write("[gpu 0]\nmemory.reserved = 551\n")

    [card] = node.look().gpus

    assert (card.mem_used_mib.value, card.mem_reserved_mib.value) == (0, 551)


def test_a_driver_that_cannot_tell_the_reserve_apart_leaves_it_unknown(node):
    """16, 19: memory v2 missing, v1 counts the reserve as used."""
    node.write("[gpu 0]\nmemory.reserved = 551\nerror.nvmlDeviceGetMemoryInfo_v2 = FUNCTION_NOT_FOUND\n")

    [card] = node.look().gpus

    assert (card.mem_used_mib.value, card.mem_reserved_mib.value) == (551, None)
    assert card.mem_reserved_mib.reason == "not_supported"


def test_the_cards_memory_is_what_the_card_says(node):
    """21, gpuopenanalytics/pynvml#63, Syllo/nvtop#213: managed memory is missing from the processes' sum."""
    node.write("[gpu 0]\nmemory.used = 70000\nproc = 4242 mem=300\n")

    [card] = node.look().gpus

    assert (card.mem_used_mib.value, [process.mem_mib for process in card.processes]) == (70000, [300])


def test_memory_and_load_without_a_process_are_told_as_they_are(node):
    """26, qizhou000/VisEdit#5: no process listed, memory and 100 % stay; judged elsewhere."""
    node.write("[gpu 0]\nmemory.used = 10151\nutil.gpu = 100\n")

    [card] = node.look().gpus

    assert (card.mem_used_mib.value, card.util_pct.value, card.processes) == (10151, 100, ())


def test_two_mebibytes_are_two_mebibytes(node):
    """28, local-inference-lab/blackwell-llm-docker#44: an idle card reports 2 MiB; tolerance is for who judges."""
    node.write("[gpu 0]\nmemory.used = 2\n")

    [card] = node.look().gpus

    assert (card.mem_used_mib.value, card.processes) == (2, ())


def test_garbage_is_unknown_and_never_busy(node):
    """29, Syllo/nvtop#110, and 30, NVIDIA/DCGM#199: utilisations of 37100 and 4294967295."""
    node.write(
        "[gpu 0-1]\n[gpu 0]\nutil.gpu = 4294967295\ntemp = 200\npower = 9000\nutil.enc = 808334905\n"
        "[gpu 1]\nutil.gpu = 101\n"
    )

    first, second = node.look().gpus

    unknown = [first.util_pct, first.util_peak_pct, first.temperature_c, first.power_w, second.util_pct]
    assert [(value.value, value.reason) for value in unknown] == [(None, "implausible")] * 5
    # The other engines are well.
    assert first.engine_pct.value == 0


def test_memory_that_cannot_be_is_unknown(node):
    """29, 30: more used than there is, and a card of no size."""
    node.write("[gpu 0-1]\n[gpu 0]\nmemory.used = 90000\n[gpu 1]\nmemory.total = 0\n")

    first, second = node.look().gpus

    assert (first.mem_used_mib.value, first.mem_used_mib.reason) == (None, "implausible")
    assert second.memory_total_mib is None


def test_an_idle_card_without_samples_is_no_error(node):
    """32, autowarefoundation/autoware_universe#11285, nvml-wrapper#56: NOT_FOUND was logged each second."""
    node.write("[gpu 0]\nerror.nvmlDeviceGetSamples = NOT_FOUND\n")

    [card] = node.look().gpus

    assert (card.util_peak_pct.value, card.util_peak_pct.reason, card.util_pct.value) == (None, "no_samples", 0)
    assert card.faults == ()


def test_memory_shared_with_the_processor_is_told(node):
    """42, nvitop#208, nvtop#463: one driver gives no memory, another the whole machine's."""
    (node.proc / "meminfo").write_text(f"MemTotal:       {122_800 * 1024} kB\n")
    node.write("[gpu 0-2]\npower.limit = N/A\n[gpu 0]\nmemory.total = N/A\n[gpu 1]\nmemory.total = 124610\n")

    seen = by_minor(node.look())

    assert [gpu.unified_memory for gpu in seen.values()] == [True, True, False]
    assert (seen[0].memory_total_mib, seen[0].mem_used_mib.value) == (None, None)


def test_a_card_as_large_as_the_machine_is_a_card_of_its_own(node):
    """42, the other way round: 80 GB of card in a machine of 80 GB."""
    (node.proc / "meminfo").write_text(f"MemTotal:       {80_000 * 1024} kB\n")
    node.write(ONE)

    [card] = node.look().gpus

    assert (card.unified_memory, card.memory_total_mib) == (False, 81559)


def test_a_memory_node_without_processors_disturbs_nothing(node):
    """43, vllm-project/vllm#39361: on Grace the NUMA id is a node of memory only."""
    node.write("[gpu 0]\nnuma = 18\nutil.gpu = 5\n")

    seen = node.look()

    assert (seen.gpus[0].util_pct.value, seen.gpus[0].faults, seen.faults) == (5, (), ())


def test_the_code_that_one_monitor_fails_with_is_no_concern_of_the_others(node):
    """58, rossumai/TensorHive#76, #290, #249, #60: one monitor's exception stopped the others; one process counted."""
    node.write(
        "[gpu 0-1]\n[gpu 0]\nutil.gpu = 40\nproc = 11 mem=1\nproc = 12 mem=2\nproc = 13 mem=3 type=C+G\n"
        "error.nvmlDeviceGetTemperature* = UNKNOWN\nerror.nvmlDeviceGetPowerUsage = NO_PERMISSION\n"
    )

    first, second = node.look().gpus

    assert [(first.temperature_c.reason, first.power_w.reason)] == [("unknown", "no_permission")]
    assert (first.util_pct.value, [process.pid for process in first.processes]) == (40, [11, 12, 13])
    assert codes(first.faults) == ["no_permission"]
    assert (second.temperature_c.value, second.power_w.value, second.faults) == (34, 70, ())
