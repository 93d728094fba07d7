"""A GPU taken away: closed at once, ended with notice and grace where the order says so, free when nobody is left."""

import signal

import pytest

from inventory.node_agent.enforce import Policy, Step
from inventory.node_agent.protocol import Applied
from tests.inventory.node_agent.enforce.holding import LEAVE_A_THREAD, MAP, PASS, hold
from tests.inventory.node_agent.enforce.machine import (
    GPU_0,
    GPU_1,
    ZERO,
    authority,
    card,
    listed,
    node_seen,
    order,
)


def test_without_authority_a_revoked_holder_is_only_waited_for(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada)

    answer = enforcer.ensure(GPU_0, order("borealis", 2, bob), node_seen())
    machine.clock.now_s += 3600
    enforcer.reconcile(node_seen())
    seen = enforcer.look(node_seen(card(processes=(listed(opener.pid, ada),))))[0]

    assert answer == Applied("draining", 1, 2, 0)
    assert (seen.holder, seen.generation, seen.draining, seen.open_to) == ("apollo", 1, True, ())
    assert seen.processes[0].allowed is True
    assert [machine.may_open(uid) for uid in (ada, bob)] == [False, False]
    assert not opener.has_ended


def test_the_next_holder_gets_in_when_the_last_process_has_ended_by_itself(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada)
    enforcer.ensure(GPU_0, order("borealis", 2, bob), node_seen())

    opener.end()
    enforcer.reconcile(node_seen())
    seen = enforcer.look(node_seen())[0]

    assert (seen.holder, seen.generation, seen.draining, seen.open_to) == ("borealis", 2, False, (bob,))
    assert [machine.may_open(uid) for uid in (ada, bob)] == [False, True]


def test_with_authority_a_process_has_its_notice_and_ends(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada)

    enforcer.ensure(GPU_0, order("borealis", 2, bob, eviction=authority(machine.clock)), node_seen())
    signal_sent = opener.ended_by()
    enforcer.reconcile(node_seen())

    assert signal_sent == signal.SIGTERM
    assert enforcer.look(node_seen())[0].holder == "borealis"
    assert machine.may_open(bob)


def test_a_process_that_stays_is_killed_after_its_grace_and_not_before(machine, ada, bob):
    enforcer = machine.enforcer(policy=Policy(grace_s=30.0))
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada, stubborn=True)
    enforcer.ensure(GPU_0, order("borealis", 2, bob, eviction=authority(machine.clock)), node_seen())

    machine.clock.now_s += 29
    enforcer.reconcile(node_seen())
    waited = not opener.has_ended
    machine.clock.now_s += 1
    enforcer.reconcile(node_seen())
    signal_sent = opener.ended_by()
    enforcer.reconcile(node_seen())

    assert (waited, signal_sent) == (True, signal.SIGKILL)
    assert enforcer.look(node_seen())[0].holder == "borealis"


def test_authority_that_ends_within_the_grace_kills_nobody(machine, ada, bob):
    enforcer = machine.enforcer(policy=Policy(grace_s=30.0))
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada, stubborn=True)
    enforcer.ensure(GPU_0, order("borealis", 2, bob, eviction=authority(machine.clock, lasts_s=20)), node_seen())

    machine.clock.now_s += 40
    enforcer.reconcile(node_seen())

    assert not opener.has_ended
    assert enforcer.look(node_seen())[0].draining


def test_a_stranger_who_was_passed_a_descriptor_is_found_and_with_authority_ended(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = hold(machine, PASS, machine.node(), ada, bob)

    machine.clock.now_s += 60
    enforcer.reconcile(node_seen())
    faults = enforcer.look(node_seen())[0].faults
    enforcer.ensure(GPU_0, order("apollo", 2, ada, eviction=authority(machine.clock)), node_seen())

    assert [fault.code for fault in faults] == ["foreign_descriptor"]
    assert f"pid {opener.pid}, uid {bob}" in faults[0].detail
    assert opener.ended_by() == signal.SIGTERM


def test_a_stranger_with_a_passed_descriptor_holds_up_the_switch(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    hold(machine, PASS, machine.node(), ada, bob)

    answer = enforcer.ensure(GPU_0, order("", 2), node_seen())

    assert answer == Applied("draining", 1, 2, 0)


@pytest.mark.parametrize("program", [MAP, LEAVE_A_THREAD], ids=["mapped", "a thread's"])
def test_a_device_that_is_kept_open_without_a_visible_descriptor_is_not_free(machine, ada, bob, program):
    machine.boot(number=ZERO)
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = hold(machine, program, machine.node(), ada)

    answer = enforcer.ensure(GPU_0, order("borealis", 2, bob, eviction=authority(machine.clock)), node_seen())
    signal_sent = opener.ended_by()
    enforcer.reconcile(node_seen())

    assert answer == Applied("draining", 1, 2, 0)
    assert signal_sent == signal.SIGTERM
    assert enforcer.look(node_seen())[0].holder == "borealis"


def test_a_services_process_is_neither_waited_for_nor_ended(machine, ada, bob):
    enforcer = machine.enforcer(policy=Policy(service_uids=frozenset({bob})))
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    service = machine.open_as(bob)
    works = node_seen(card(processes=(listed(service.pid, bob),)), card(GPU_1))

    answer = enforcer.ensure(GPU_0, order("", 2, eviction=authority(machine.clock)), works)

    assert answer == Applied("switched", 0, 2, 0)
    assert not service.has_ended


def test_a_device_that_others_open_while_it_is_looked_at_proves_nothing(machine, ada, bob):
    """nvidia-modprobe with the wrong parameters opens it for everybody in the very moment."""
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())

    def interfere(step: Step) -> None:
        if step is Step.ACCESS_SET:
            machine.node().chmod(0o666)

    disturbed = machine.enforcer(on_step=interfere)
    answer = disturbed.ensure(GPU_0, order("borealis", 2, bob), node_seen())
    enforcer = machine.enforcer()
    enforcer.reconcile(node_seen())

    assert answer == Applied("draining", 0, 2, 0)
    assert enforcer.look(node_seen())[0].holder == "borealis"


def test_a_member_of_both_projects_starts_afresh_for_the_new_one(machine, ada):
    """Her process was started for apollo: it is not borealis' because she is in both."""
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada)

    answer = enforcer.ensure(GPU_0, order("borealis", 2, ada), node_seen())
    closed = machine.may_open(ada)
    opener.end()
    enforcer.reconcile(node_seen())

    assert (answer.state, closed) == ("draining", False)
    assert machine.may_open(ada)


def test_what_a_user_does_on_another_gpu_by_right_is_never_ended(machine, ada, bob):
    """CUDA opens every GPU that its user may open; her lease on the second one goes on."""
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    enforcer.ensure(GPU_1, order("cygnus", 1, ada), node_seen())
    opener = machine.open_as(ada)
    works = node_seen(card(GPU_0), card(GPU_1, processes=(listed(opener.pid, ada),)))

    answer = enforcer.ensure(GPU_0, order("borealis", 2, bob, eviction=authority(machine.clock)), works)
    machine.clock.now_s += 300
    enforcer.reconcile(works)
    seen = enforcer.look(works)[0]

    assert (answer.state, answer.running, opener.has_ended) == ("draining", 1, False)
    assert [fault.code for fault in seen.faults] == ["works_elsewhere"]


def test_a_site_may_let_such_a_process_keep_the_gpu_open_and_go_on(machine, ada, bob):
    enforcer = machine.enforcer(policy=Policy(waits_for_works_elsewhere=False))
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    enforcer.ensure(GPU_1, order("cygnus", 1, ada), node_seen())
    opener = machine.open_as(ada)
    works = node_seen(card(GPU_0), card(GPU_1, processes=(listed(opener.pid, ada),)))

    answer = enforcer.ensure(GPU_0, order("borealis", 2, bob), works)
    seen = enforcer.look(works)[0]

    assert (answer.state, seen.holder) == ("switched", "borealis")
    assert "works_elsewhere" in [fault.code for fault in seen.faults]


def test_ending_one_gpus_processes_leaves_the_same_users_others_alone(machine, ada):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    enforcer.ensure(GPU_1, order("cygnus", 1, ada), node_seen())
    first, second = machine.open_as(ada, GPU_0), machine.open_as(ada, GPU_1)

    enforcer.ensure(GPU_0, order("", 2, eviction=authority(machine.clock)), node_seen())

    assert first.ended_by() == signal.SIGTERM
    assert not second.has_ended
    assert machine.may_open(ada, GPU_1)


def test_what_nvml_lists_holds_up_a_switch_even_without_a_descriptor(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    works = node_seen(card(processes=(listed(2**22 - 1, ada),)), card(GPU_1))

    answer = enforcer.ensure(GPU_0, order("borealis", 2, bob), works)

    assert answer == Applied("draining", 1, 2, 0)


def test_a_list_that_nvml_does_not_give_is_not_an_empty_one(machine, ada, bob):
    """wookayin/gpustat#138."""
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    unknown = node_seen(card(processes=None), card(GPU_1))

    answer = enforcer.ensure(GPU_0, order("borealis", 2, bob), unknown)
    seen = enforcer.look(unknown)[0]

    assert answer == Applied("draining", 0, 2, 0)
    assert [fault.code for fault in seen.faults] == ["processes_unknown"]


def test_an_order_for_a_device_that_is_not_known_waits_for_its_holder_all_the_same(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada)

    unknown = enforcer.ensure(GPU_0, order("borealis", 2, bob), node_seen(card(minor=7), card(GPU_1)))
    known = enforcer.ensure(GPU_0, order("borealis", 2, bob), node_seen())

    assert (unknown, known) == (Applied("draining", 0, 2, 0), Applied("draining", 1, 2, 0))
    assert (machine.may_open(bob), opener.has_ended) == (False, False)


def test_an_undone_order_lets_the_holder_in_again_without_a_switch(machine, ada, bob):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = machine.open_as(ada)
    enforcer.ensure(GPU_0, order("borealis", 2, bob), node_seen())

    answer = enforcer.ensure(GPU_0, order("apollo", 3, ada), node_seen())

    assert answer == Applied("switched", 0, 3, 0)
    assert (opener.has_ended, machine.may_open(ada), machine.may_open(bob)) == (False, True, False)


def test_the_first_holder_of_a_gpu_may_be_working_on_it_already(machine, ada):
    machine.node().chmod(0o666)
    opener = machine.open_as(ada)
    enforcer = machine.enforcer()

    answer = enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())

    assert answer == Applied("switched", 0, 1, 0)
    assert not opener.has_ended


def test_a_stranger_on_nobodys_gpu_is_waited_for_first(machine, ada, bob):
    machine.node().chmod(0o666)
    opener = machine.open_as(bob)
    enforcer = machine.enforcer()

    answer = enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener.end()
    enforcer.reconcile(node_seen())

    assert answer == Applied("draining", 1, 1, 0)
    assert machine.may_open(ada)
