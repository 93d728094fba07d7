"""The holder opens the device, strangers do not, and what the node says is what it read back."""

import os

import pytest

from inventory.node_agent.enforce import Policy
from inventory.node_agent.protocol import Applied
from tests.inventory.node_agent.enforce.machine import GPU_0, GPU_1, card, listed, node_seen, order


def test_the_holder_opens_the_device_and_a_stranger_does_not(machine, ada, bob):
    enforcer = machine.enforcer()
    before = (machine.may_open(ada), machine.may_open(bob))

    answer = enforcer.ensure(GPU_0, order("apollo", 3, ada, revision=2), node_seen())

    assert before == (False, False)
    assert answer == Applied("switched", 0, 3, 2)
    assert (machine.may_open(ada), machine.may_open(bob)) == (True, False)
    assert (machine.may_open(ada, GPU_1), machine.may_open(bob, GPU_1)) == (False, False)
    assert machine.mode_and_owner() == ("660", 0, 0)


def test_the_node_says_who_holds_the_gpu_as_it_read_it_back(machine, ada):
    enforcer = machine.enforcer()

    enforcer.ensure(GPU_0, order("apollo", 3, ada, revision=2), node_seen())
    first, second = enforcer.look(node_seen())

    assert (first.holder, first.generation, first.access_revision) == ("apollo", 3, 2)
    assert (first.draining, first.open_to, first.faults) == (False, (ada,), ())
    assert (second.holder, second.generation, second.open_to) == ("", 0, ())


def test_a_holder_who_is_not_proven_is_unknown(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 3, ada), node_seen())

    machine.node().chmod(0o666)
    seen = enforcer.look(node_seen())[0]

    assert (seen.holder, seen.generation, seen.open_to) == (None, 3, None)
    assert [fault.code for fault in seen.faults] == ["access_differs"]


def test_a_user_who_gets_in_in_spite_of_the_list_makes_the_holder_unknown(machine, ada, bob):
    """A member of the group root gets in by the owning group; the access list alone would look right."""
    machine.layout.devices.chmod(0o700)
    enforcer = machine.enforcer()

    enforcer.ensure(GPU_0, order("apollo", 3, ada), node_seen())
    seen = enforcer.look(node_seen())[0]

    assert seen.holder is None
    assert [fault.detail for fault in seen.faults] == [f"{machine.node()}: uid {ada} is kept out"]


def test_services_keep_their_entry_with_and_without_a_holder(machine, ada, bob):
    enforcer = machine.enforcer(policy=Policy(service_uids=frozenset({bob})))

    enforcer.reconcile(node_seen())
    alone = machine.may_open(bob)
    enforcer.ensure(GPU_0, order("apollo", 3, ada), node_seen())

    assert (alone, machine.may_open(bob), machine.may_open(ada)) == (True, True, True)
    assert enforcer.look(node_seen())[0].open_to == (ada,)


def test_a_member_who_leaves_goes_without_a_new_generation(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 3, ada, bob, revision=1), node_seen())
    opener = machine.open_as(bob)

    answer = enforcer.ensure(GPU_0, order("apollo", 3, ada, revision=2), node_seen())
    seen = enforcer.look(node_seen(card(processes=(listed(opener.pid, bob),))))[0]

    assert answer == Applied("switched", 1, 3, 2)
    assert (machine.may_open(ada), machine.may_open(bob)) == (True, False)
    assert (seen.holder, seen.access_revision, seen.processes[0].allowed) == ("apollo", 2, False)
    assert not opener.has_ended


def test_an_older_access_revision_does_not_bring_a_leaver_back(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 3, ada, revision=2), node_seen())

    answer = enforcer.ensure(GPU_0, order("apollo", 3, ada, bob, revision=1), node_seen())

    assert answer.access_revision == 2
    assert (machine.may_open(ada), machine.may_open(bob)) == (True, False)


@pytest.mark.parametrize("minor", [3, 0])
def test_a_gpu_whose_minor_is_told_in_two_ways_is_given_to_nobody(machine, ada, minor):
    enforcer = machine.enforcer()
    seen = node_seen(card(GPU_0, minor=minor), card(GPU_1))

    answer = enforcer.ensure(GPU_0, order("apollo", 3, ada), seen)
    found = enforcer.look(seen)[0]

    assert answer.state == "draining"
    assert [machine.may_open(ada, uuid) for uuid in (GPU_0, GPU_1)] == [False, False]
    assert found.holder is None
    assert "device_unknown" in [fault.code for fault in found.faults]


def test_devices_go_by_minor_and_never_by_index(machine, ada):
    """PrincetonUniversity/jobstats#34: the first GPU of NVML may be /dev/nvidia4."""
    enforcer = machine.enforcer()

    enforcer.ensure(GPU_0, order("apollo", 3, ada), node_seen())

    assert machine.node(GPU_0).name == "nvidia4"
    assert os.getxattr(machine.node(GPU_0), "system.posix_acl_access") != b""
    with pytest.raises(OSError, match="No data"):
        os.getxattr(machine.node(GPU_1), "system.posix_acl_access")


def test_a_card_that_only_the_drivers_own_table_names_keeps_its_holder(machine, ada):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 3, ada), node_seen())

    enforcer.reconcile(node_seen(card(GPU_1)))

    assert machine.may_open(ada)


def test_a_device_that_is_no_gpus_any_more_is_closed(machine, ada):
    """After the driver was loaded anew another card may be behind it, and the list is still the old one's."""
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 3, ada), node_seen())
    (machine.layout.driver / "gpus/0000:00:00.0/information").unlink()

    enforcer.reconcile(node_seen(card(GPU_1)))

    assert not machine.may_open(ada)


def test_what_the_list_does_not_say_is_tested_again_from_time_to_time(machine, ada):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 3, ada), node_seen())
    machine.layout.devices.chmod(0o700)

    holders = []
    for later_s in (59, 1):
        machine.clock.now_s += later_s
        enforcer.reconcile(node_seen())
        holders.append(enforcer.look(node_seen())[0].holder)

    machine.layout.devices.chmod(0o755)
    enforcer.reconcile(node_seen())

    assert holders == ["apollo", None]
    assert enforcer.look(node_seen())[0].holder == "apollo"
