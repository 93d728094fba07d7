"""Which device a descriptor is of, who a process is, and what an access list is in bytes."""

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.node_agent.enforce.access_lists import AccessList, read_list, write_list
from inventory.node_agent.enforce.devices import DeviceNode, bus_id, device_node
from inventory.node_agent.enforce.eviction import Evictions
from inventory.node_agent.enforce.holders import find_holders, look_at, started_at_s
from inventory.node_agent.enforce.layout import Layout
from tests.inventory.node_agent.enforce.machine import (
    GPU_0,
    GPU_1,
    NULL,
    authority,
    card,
    listed,
    make_node,
    node_seen,
    order,
)

PROC = Path("/proc")


def test_stand_ins_that_share_a_number_are_told_apart_by_inode(machine):
    first, second = (device_node(machine.node(uuid), 6, machine.layout) for uuid in (GPU_0, GPU_1))
    descriptor = os.open(first.path, os.O_RDWR)

    found = find_holders(PROC, [first, second]).by_key

    os.close(descriptor)
    assert [holder.pid for holder in found[first.key]] == [os.getpid()]
    assert second.key not in found


def test_a_drivers_device_is_known_by_its_number_whatever_the_path(machine):
    elsewhere = machine.layout.devices / "nvidia-of-a-container"
    make_node(elsewhere, 0o660, NULL)
    node = device_node(machine.node(), 6, machine.layout)
    by_number = replace(node, key=("number", NULL, 0))
    descriptor = os.open(elsewhere, os.O_RDWR)

    pids = {holder.pid for holder in find_holders(PROC, [by_number]).by_key[by_number.key]}
    by_inode = find_holders(PROC, [node]).by_key

    os.close(descriptor)
    assert os.getpid() in pids
    assert by_inode == {}


def test_a_device_of_another_driver_is_not_taken_for_a_gpu():
    """On a real node the number must be the driver's: /dev/null would let everybody in and be nobody's."""
    found = device_node(Path("/dev/null"), 6, Layout(), os.makedev(195, 0))

    assert found == "/dev/null is device 1:3, not the driver's"


def test_a_file_is_no_device(tmp_path):
    (tmp_path / "nvidia0").touch()

    assert device_node(tmp_path / "nvidia0", 6, Layout()) == f"{tmp_path}/nvidia0 is no character device"


def test_bus_ids_of_nvml_and_of_the_kernel_are_one():
    assert bus_id("00000000:1A:00.0") == bus_id("0000:1a:00.0") == "0000:1a:00.0"


def test_a_pid_that_is_somebody_elses_by_now_is_not_signalled():
    process = subprocess.Popen(["sleep", "60"])
    now = look_at(PROC, process.pid)
    evictions = Evictions(PROC, 0.0, lambda step: None)

    for other in (replace(now, started_ticks=now.started_ticks - 1), replace(now, uid=4242)):
        evictions.press(other, 0.0)
        evictions.press(other, 1.0)
    lived = process.poll() is None
    Evictions(PROC, 0.0, lambda step: None).press(now, 2.0)

    assert (lived, process.wait(10)) == (True, -signal.SIGTERM)


def test_a_listed_pid_that_is_another_process_by_now_is_not_ended(machine, ada, bob):
    """NVML's list is some seconds old, and this one is of a process that began long before."""
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    machine.node(GPU_1).chmod(0o666)
    innocent = machine.open_as(ada, GPU_1)
    began_s = started_at_s(PROC, look_at(PROC, innocent.pid))

    for late_s in (100.0, 0.0):
        works = node_seen(card(processes=(replace(listed(innocent.pid, ada), started_at_s=began_s - late_s),)))
        enforcer.ensure(GPU_0, order("borealis", 2, bob, eviction=authority(machine.clock)), works)
        if late_s:
            lived = not innocent.has_ended

    assert (lived, innocent.ended_by()) == (True, signal.SIGTERM)


permissions = st.integers(0, 7)


@given(
    st.dictionaries(st.integers(1, 2**32 - 2), permissions, max_size=20),
    permissions,
    permissions,
    permissions,
    permissions,
)
def test_an_access_list_is_read_back_as_it_was_written(tmp_path_factory, users, owner, group, others, mask):
    path = tmp_path_factory.getbasetemp() / "node"
    path.touch()
    wanted = AccessList(owner, group, others, tuple(sorted(users.items())), mask if users else None)

    write_list(path, wanted)

    assert read_list(path) == wanted


def test_setfacl_and_getfacl_mean_the_same_list(tmp_path):
    path = tmp_path / "node"
    path.touch()
    subprocess.run(["setfacl", "--set", "u::rw,g::rw,o::-,m::rw,u:1005:rw,u:7:r", path], check=True)

    ours = read_list(path)
    write_list(path, AccessList(6, 6, 0, ((8, 4), (1006, 6)), 6))
    theirs = subprocess.run(["getfacl", "-cpn", path], check=True, capture_output=True, text=True).stdout

    assert ours == AccessList(6, 6, 0, ((7, 4), (1005, 6)), 6)
    assert theirs.split() == [
        "user::rw-", "user:8:r--", "user:1006:rw-", "group::rw-", "mask::rw-", "other::---",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("access", "open_to"),
    [
        (AccessList(6, 6, 0, ((5, 6), (6, 4)), 6), (5,)),
        (AccessList(6, 6, 0, ((5, 6),), 4), ()),
        (AccessList(6, 6, 6, ((5, 6),), 6), None),
        (AccessList(6, 6, 0, ((5, 6),), 6, named_groups=True), None),
        (AccessList(6, 6, 0), ()),
    ],
)
def test_who_may_open_goes_by_the_mask_and_is_unknown_where_all_may(access, open_to):
    assert access.open_to(6) == open_to


def test_a_node_without_its_number_is_still_a_node():
    assert isinstance(device_node(Path("/dev/null"), 6, Layout()), DeviceNode)
