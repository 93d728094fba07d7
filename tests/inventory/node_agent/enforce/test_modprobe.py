"""Others change modes: nvidia-modprobe at any user's CUDA start, an admin by hand. Seen, said and put right."""

import os
import subprocess

import pytest

from inventory.node_agent.enforce import Step
from inventory.node_agent.enforce.access_lists import read_list, write_list
from tests.inventory.node_agent.enforce.machine import GPU_0, NULL, make_node, node_seen, order


def nvidia_modprobe(path, mode: int) -> None:
    """What nvidia-modprobe does to a node whose mode or owner differs from the driver's parameters."""
    status = path.stat()
    if (status.st_mode & 0o777, status.st_uid, status.st_gid) != (mode, 0, 0):
        path.chmod(mode)
        os.chown(path, 0, 0)


@pytest.mark.parametrize(
    ("mode", "after_it"),
    [
        # The driver's default: the mask is opened with the mode, and everybody is in.
        (0o666, (True, True)),
        # The mask is closed with the mode: the holder loses her GPU.
        (0o600, (False, False)),
        # The one mode that is stable.
        (0o660, (True, False)),
    ],
)
def test_a_mode_that_nvidia_modprobe_repairs_is_put_right(machine, ada, bob, mode, after_it):
    """The table of NVIDIA's own tool, NVIDIA/nvidia-modprobe: DeviceFileMode 0666, 0600, 0660."""
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())

    nvidia_modprobe(machine.node(), mode)
    then = machine.may_open(ada), machine.may_open(bob)
    holder_then = enforcer.look(node_seen())[0].holder
    enforcer.reconcile(node_seen())
    seen = enforcer.look(node_seen())[0]

    is_stable = mode == 0o660
    assert then == after_it
    assert holder_then == ("apollo" if is_stable else None)
    assert [machine.may_open(uid) for uid in (ada, bob)] == [True, False]
    assert (seen.holder, machine.mode_and_owner()) == ("apollo", ("660", 0, 0))
    assert [fault.code for fault in seen.faults] == ([] if is_stable else ["device_changed"])


def test_a_list_that_somebody_added_to_is_put_right(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())

    subprocess.run(["setfacl", "-m", f"u:{bob}:rw", machine.node()], check=True)
    added = machine.may_open(bob), enforcer.look(node_seen())[0]
    enforcer.reconcile(node_seen())

    assert (added[0], added[1].holder, added[1].open_to) == (True, None, tuple(sorted((ada, bob))))
    assert (machine.may_open(bob), machine.may_open(ada)) == (False, True)


def test_a_node_of_a_foreign_group_is_closed_to_that_group(machine, ada, bob):
    enforcer = machine.enforcer()
    os.chown(machine.node(), 0, bob)

    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())

    assert [machine.may_open(uid) for uid in (ada, bob)] == [True, False]
    assert enforcer.look(node_seen())[0].open_to == (ada,)


def test_a_list_with_somebody_whom_nobody_tested_makes_the_holder_unknown(machine, ada):
    """An admin adds a user in the moment between the writing and the read-back."""

    def add_a_user(step: Step) -> None:
        if step is Step.ACCESS_SET:
            subprocess.run(["setfacl", "-m", "u:4321:rw", machine.node()], check=True)

    machine.enforcer().ensure(GPU_0, order("apollo", 1, ada), node_seen())
    disturbed = machine.enforcer(on_step=add_a_user)

    disturbed.reconcile(node_seen())
    added = disturbed.look(node_seen())[0].holder
    subprocess.run(["setfacl", "-x", "u:4321", machine.node()], check=True)
    taken_back = disturbed.look(node_seen())[0]

    # As wanted by now, but that was never tested.
    assert (added, taken_back.holder, taken_back.open_to) == (None, None, (ada,))


def test_a_device_that_was_made_anew_is_unknown_until_it_is_tested(machine, ada):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    access = read_list(machine.node())

    other = machine.layout.devices / "other"
    make_node(other, 0o660, NULL)
    write_list(other, access)
    other.rename(machine.node())
    then = enforcer.look(node_seen())[0].holder
    enforcer.reconcile(node_seen())

    assert then is None
    assert enforcer.look(node_seen())[0].holder == "apollo"
