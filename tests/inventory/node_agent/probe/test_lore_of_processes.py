"""Public faults of other pollers about processes, each with its issue; a case each on the stand-in."""

import pytest

from tests.inventory.nvml_stub.library import codes

LISTS = "nvmlDeviceGet*Processes"


@pytest.mark.parametrize("missing", ["_v3", "_v2"])
def test_the_lists_come_by_the_call_that_the_driver_has(node, missing):
    """18, XuehaiPan/nvitop#88, #89, #181: the v3 calls came and went between drivers."""
    node.write(f"[gpu 0]\nproc = 4242 mem=100\nerror.{LISTS}{missing} = FUNCTION_NOT_FOUND\n")

    [card] = node.look().gpus

    assert [(process.pid, process.mem_mib) for process in card.processes] == [(4242, 100)]


def test_a_driver_without_any_such_call_leaves_the_processes_unknown(node):
    """19, pynvml#43, k8s-device-plugin#331, dask-cuda#909, gpustat#105: the mismatch is no NVMLError."""
    node.write(f"[gpu 0]\nproc = 4242 mem=100\nutil.gpu = 3\nerror.{LISTS}_v* = FUNCTION_NOT_FOUND\n")

    [card] = node.look().gpus

    assert (card.processes, card.util_pct.value) == (None, 3)


@pytest.mark.parametrize("code", ["NOT_SUPPORTED", "NO_PERMISSION", "UNKNOWN"])
def test_a_list_that_fails_is_unknown_and_not_empty(node, code):
    """20, wookayin/gpustat#138: the process list is not supported."""
    node.write(f"[gpu 0]\nerror.nvmlDeviceGetComputeRunningProcesses = {code}\n")

    [card] = node.look().gpus

    assert card.processes is None


def test_a_card_that_knows_no_graphics_has_no_graphics_processes(node):
    """20: but one kind of list that the hardware lacks hides nothing."""
    node.write("[gpu 0]\nproc = 4242\nerror.nvmlDeviceGetGraphicsRunningProcesses = NOT_SUPPORTED\n")

    [card] = node.look().gpus

    assert [process.pid for process in card.processes] == [4242]


def test_a_graphics_list_that_fails_makes_all_unknown(node):
    """20: there may be processes that nobody saw."""
    node.write("[gpu 0]\nproc = 4242\nerror.nvmlDeviceGetGraphicsRunningProcesses = UNKNOWN\n")

    [card] = node.look().gpus

    assert card.processes is None


def test_memory_that_the_driver_does_not_tell_is_unknown(node):
    """22, the binding's note on WDDM and vGPU: usedGpuMemory is None."""
    node.write("[gpu 0]\nproc = 77 mem=N/A type=C+G\n")

    [card] = node.look().gpus

    assert [(process.pid, process.mem_mib) for process in card.processes] == [(77, None)]


def test_pids_of_another_namespace_are_not_looked_up(node):
    """23, NVIDIA/nvidia-docker#1483, #179, #1460: host pids, or none, in a container."""
    node.write("[gpu 0]\nproc = 4242 mem=100\nutil.gpu = 7\n")
    node.process(4242, name="innocent")
    for name in ("self", "1"):
        (node.proc / name / "ns" / "pid").unlink()
        (node.proc / name / "ns" / "pid").symlink_to("pid:[4026533001]")

    seen = node.look()

    assert codes(seen.faults) == ["foreign_pids"]
    assert (seen.gpus[0].processes, seen.gpus[0].util_pct.value) == (None, 7)


def test_a_zombie_is_its_users(node):
    """25, microsoft/pai#5528, pytorch#4293, apache/mxnet#4242: zombies hold memory and cannot be killed."""
    node.write("[gpu 0]\nproc = 4242 mem=9000\n")
    node.process(4242, uid=3_000_000, cgroup="/system.slice/gpu-lease-42.scope")
    with node.probe() as probe:
        probe.look()
        node.process(4242, uid=3_000_000, state="Z", cgroup="/")

        [card] = probe.look().gpus

    [process] = card.processes
    assert (process.uid, process.job, process.zombie, process.mem_mib) == (3_000_000, "lease:42", True, 9000)


def test_memory_of_a_process_that_is_gone_stays_with_who_was_seen_last(node):
    """25: no /proc entry and memory held."""
    node.write("[gpu 0]\nproc = 4242 mem=9000\nproc = 4243 mem=1\n")
    node.process(4242, uid=3_000_000, name="train", cgroup="/system.slice/gpu-lease-42.scope")
    with node.probe() as probe:
        first = probe.look().gpus[0].processes
        node.ended(4242)

        gone, never_seen = probe.look().gpus[0].processes

    assert (gone.uid, gone.name, gone.job, gone.started_at_s) == (3_000_000, "train", "lease:42", first[0].started_at_s)
    assert (gone.zombie, never_seen.zombie) == (True, True)
    assert (never_seen.user, never_seen.uid, never_seen.mem_mib) == ("?", None, 1)


def test_a_pid_that_cannot_be_makes_the_list_unknown(node):
    """29, Syllo/nvtop#110: pid 0 with 37100 %; dropping the row could make a used card look free."""
    node.write("[gpu 0]\nproc = 0 sm=37100\n")

    [card] = node.look().gpus

    assert (card.processes, card.util_pct.value) == (None, 0)


def test_scrambled_pids_are_read_by_the_older_call(node):
    """18, XuehaiPan/nvitop#88: the first 535 drivers wrote longer records than the binding reads."""
    node.write("[gpu 0]\nquirk.proc_v3_stride32 = yes\nproc = 1184 mem=10\nproc = 16040 mem=20\nproc = 19984 mem=30\n")

    [card] = node.look().gpus

    assert [(process.pid, process.mem_mib) for process in card.processes] == [(1184, 10), (16040, 20), (19984, 30)]


def test_one_process_in_two_lists_is_one_process(node):
    """3.5 of the same field notes: compute and graphics of one pid, and MPS clients beside."""
    node.write("[gpu 0]\nproc = 50 mem=10 type=C+G\nproc = 51 mem=5 type=M\nproc = 52 mem=1 type=G\n")

    [card] = node.look().gpus

    assert [(process.pid, process.mem_mib) for process in card.processes] == [(50, 10), (51, 5), (52, 1)]
