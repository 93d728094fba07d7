"""MIG instances: the card's device and the two capability devices of the instance, by the driver's tables."""

import subprocess
from dataclasses import replace

import pytest

from inventory.node_agent.enforce import Refused
from inventory.node_agent.protocol import Fault
from inventory.node_agent.seen import NodeSeen
from tests.inventory.node_agent.enforce.machine import GPU_0, NULL, card, listed, make_node, node_seen, order

ONE, TWO = "MIG-1111", f"MIG-{GPU_0}/2/0"
CAPABILITIES = {"gpu4/gi1": 12, "gpu4/gi1/ci0": 13, "gpu4/gi2": 21, "gpu4/gi2/ci0": 22}


@pytest.fixture
def mig(machine):
    """One card with two instances; the second has a name of the old kind, which holds its ids."""
    table = "config 1\nmonitor 2\n" + "".join(f"{name}/access {minor}\n" for name, minor in CAPABILITIES.items())
    machine.layout.mig_minors.parent.mkdir()
    machine.layout.mig_minors.write_text(table)
    (machine.layout.devices / "nvidia-caps").mkdir()
    for name, minor in CAPABILITIES.items():
        make_node(capability(machine, minor), 0o444, NULL)
        file = machine.layout.driver / "capabilities" / name.replace("gpu4/", "gpu4/mig/") / "access"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"DeviceFileMinor: {minor}\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
    return machine


def capability(machine, minor: int):
    return machine.layout.devices / "nvidia-caps" / f"nvidia-cap{minor}"


def instances(**processes):
    return node_seen(
        card(GPU_0),
        card(ONE, kind="mig", parent_uuid=GPU_0, pci_bus_id="00000000:00:00.0", **processes),
        card(TWO, kind="mig", parent_uuid=GPU_0, pci_bus_id="00000000:00:00.0"),
        instances={ONE: (1, 0)},
    )


def may_read(uid: int, path) -> bool:
    read = subprocess.run(["cat", path], user=uid, group=uid, extra_groups=[], capture_output=True, cwd="/")
    return read.returncode == 0


def doors(machine, uid: int) -> list[bool]:
    """Whether that user gets through: the card, then the four capability devices."""
    return [machine.may_open(uid), *(may_read(uid, capability(machine, minor)) for minor in CAPABILITIES.values())]


def test_holders_of_two_instances_share_the_card_and_nothing_else(mig, ada, bob):
    enforcer = mig.enforcer()

    enforcer.ensure(ONE, order("apollo", 1, ada), instances())
    enforcer.ensure(TWO, order("borealis", 1, bob), instances())
    seen = enforcer.look(instances())

    assert doors(mig, ada) == [True, True, True, False, False]
    assert doors(mig, bob) == [True, False, False, True, True]
    assert [gpu.holder for gpu in seen] == ["", "apollo", "borealis"]
    assert [gpu.open_to for gpu in seen] == [tuple(sorted((ada, bob))), (ada,), (bob,)]
    assert [gpu.faults for gpu in seen] == [(), (), ()]


def test_an_instance_taken_away_closes_its_own_devices_and_leaves_the_neighbour(mig, ada, bob):
    enforcer = mig.enforcer()
    enforcer.ensure(ONE, order("apollo", 1, ada), instances())
    enforcer.ensure(TWO, order("borealis", 1, bob), instances())
    works = instances(processes=(listed(2**22 - 1, ada),))

    answer = enforcer.ensure(ONE, order("", 2), works)

    assert answer.state == "draining"
    assert doors(mig, ada) == [False, False, False, False, False]
    assert doors(mig, bob) == [True, False, False, True, True]


def test_a_list_of_an_instance_that_is_older_than_the_order_proves_nothing(mig, ada, bob):
    enforcer = mig.enforcer()
    enforcer.ensure(ONE, order("apollo", 1, ada), instances())
    old = replace(instances(), listed_age_s={ONE: 5.0})

    before = enforcer.ensure(ONE, order("borealis", 2, bob), old)
    mig.clock.now_s += 5
    after = enforcer.ensure(ONE, order("borealis", 2, bob), old)

    assert (before.state, after.state) == ("draining", "switched")


def test_processes_that_nvml_lists_on_the_card_too_are_their_instances_matter(mig, ada):
    enforcer = mig.enforcer()
    both = {"processes": (listed(2**22 - 1, ada),)}
    seen = instances(**both)
    seen = node_seen(card(GPU_0, **both), *seen.gpus[1:], instances=seen.instances)
    enforcer.ensure(ONE, order("apollo", 1, ada), seen)

    answer = enforcer.ensure(GPU_0, order("", 1), seen)
    found = enforcer.look(seen)

    assert answer.state == "switched"
    assert [[process.allowed for process in gpu.processes] for gpu in found] == [[None], [True], []]


def test_the_driver_is_told_to_leave_capability_devices_alone(mig):
    enforcer = mig.enforcer(mode="shadow")
    lacking = [check.found for check in enforcer.findings(instances()) if check.name.startswith("MIG")]

    mig.enforcer().reconcile(instances())

    files = (mig.layout.driver / "capabilities").glob("**/access")
    assert lacking == ["DeviceFileModify 1"] * 4
    assert {file.read_text() for file in files} == {"DeviceFileModify: 0\n"}


def test_devices_of_an_instance_that_is_gone_are_closed(mig, ada):
    """NVIDIA/k8s-device-plugin#225: instances vanish, and their numbers are given anew."""
    enforcer = mig.enforcer()
    enforcer.ensure(ONE, order("apollo", 1, ada), instances())

    enforcer.reconcile(node_seen(card(GPU_0)))

    assert doors(mig, ada) == [False] * 5


def test_a_driver_that_cannot_be_asked_does_not_make_instances_vanish(mig, ada):
    enforcer = mig.enforcer()
    enforcer.ensure(ONE, order("apollo", 1, ada), instances())

    enforcer.reconcile(NodeSeen((), faults=(Fault("driver_hung", "", 0.0),)))

    assert [may_read(ada, capability(mig, minor)) for minor in (12, 13)] == [True, True]


def test_an_instance_without_known_ids_is_given_to_nobody(mig, ada):
    enforcer = mig.enforcer()
    unnamed = node_seen(*instances().gpus)

    answer = enforcer.ensure(ONE, order("apollo", 1, ada), unnamed)
    seen = enforcer.look(unnamed)[1]

    assert answer.state == "draining"
    assert (seen.holder, seen.faults[0].detail) == (None, "its instance ids are not known")
    assert doors(mig, ada) == [False] * 5


def test_an_order_for_an_instance_of_before_the_reboot_is_refused(mig, ada):
    with pytest.raises(Refused) as refused:
        mig.enforcer().ensure("MIG-of-yesterday", order("apollo", 1, ada), instances())

    assert refused.value.refusal.code == "unknown_gpu"
