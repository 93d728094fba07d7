"""Looking only, the week before enforcement, and what a node lacks for it."""

import grp
import pwd

import pytest

from inventory.node_agent.enforce import Policy, Refused
from inventory.node_agent.enforce.doctor import group_check, own_capability_check
from inventory.node_agent.protocol import Applied, Fault
from tests.inventory.node_agent.enforce.machine import GOOD_PARAMS, GPU_0, GPU_1, card, listed, node_seen, order


@pytest.fixture
def open_node(machine):
    """The driver's default: everybody may open everything."""
    machine.boot(mode=0o666)
    return machine


@pytest.fixture
def no_members(monkeypatch):
    """This machine's own groups are not the test's matter."""
    monkeypatch.setattr(grp, "getgrall", list)
    monkeypatch.setattr(pwd, "getpwall", list)


def codes_of(refused: pytest.ExceptionInfo[Refused]) -> str:
    return refused.value.refusal.code


@pytest.mark.parametrize("mode", ["observe", "shadow"])
def test_without_enforcement_orders_are_kept_and_devices_are_left_alone(open_node, ada, bob, mode):
    enforcer = open_node.enforcer(mode=mode)

    answer = enforcer.ensure(GPU_0, order("apollo", 3, ada, revision=2), node_seen())
    seen = enforcer.look(node_seen())[0]

    assert answer == Applied("switched", 0, 3, 2)
    assert (seen.holder, seen.generation, seen.access_revision) == ("apollo", 3, 2)
    assert (seen.open_to, seen.faults) == (None, ())
    assert (open_node.may_open(bob), open_node.mode_and_owner()) == (True, ("666", 0, 0))


@pytest.mark.parametrize("mode", ["observe", "shadow"])
def test_without_enforcement_a_switch_is_proven_by_the_processes_alone(open_node, ada, bob, mode):
    enforcer = open_node.enforcer(mode=mode)
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    opener = open_node.open_as(ada)
    works = node_seen(card(processes=(listed(opener.pid, ada),)), card(GPU_1))

    answer = enforcer.ensure(GPU_0, order("borealis", 2, bob), works)
    during = enforcer.look(works)[0]
    enforcer.reconcile(node_seen())
    after = enforcer.look(node_seen())[0]

    assert answer == Applied("draining", 1, 2, 0)
    assert (during.holder, during.generation, during.draining) == ("apollo", 1, True)
    assert (after.holder, after.generation, after.draining) == ("borealis", 2, False)
    assert not opener.has_ended


def test_a_list_that_nvml_gave_before_the_order_came_proves_nothing(open_node, ada, bob):
    """Who started in between is not in it."""
    enforcer = open_node.enforcer(mode="shadow")
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())

    states = [enforcer.ensure(GPU_0, order("borealis", 2, bob), node_seen(listed_age_s={GPU_0: 20.0})).state]
    for later_s, age_s in ((15, 20.0), (5, 25.0), (5, 4.0)):
        open_node.clock.now_s += later_s
        answer = enforcer.ensure(GPU_0, order("borealis", 2, bob), node_seen(listed_age_s={GPU_0: age_s}))
        states.append(answer.state)

    assert states == ["draining", "draining", "draining", "switched"]


@pytest.mark.parametrize(("mode", "allowed"), [("observe", [None] * 4), ("shadow", [True, False, None, None])])
def test_shadow_says_whom_enforcement_would_have_ended(open_node, ada, bob, mode, allowed):
    enforcer = open_node.enforcer(mode=mode)
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())
    processes = (listed(11, ada), listed(12, bob), listed(13, 0), listed(14, None))

    seen = enforcer.look(node_seen(card(processes=processes), card(GPU_1)))[0]

    assert [process.allowed for process in seen.processes] == allowed


def test_on_a_gpu_that_was_never_ordered_everybody_is_a_stranger(open_node, ada):
    enforcer = open_node.enforcer(mode="shadow")
    works = node_seen(card(processes=(listed(11, ada),)), card(GPU_1))

    enforcer.reconcile(works)
    seen = enforcer.look(works)[0]

    assert (seen.holder, seen.generation, seen.processes[0].allowed) == ("", 0, False)


def test_a_node_that_only_looks_takes_no_orders_and_knows_no_holder(machine, ada, no_members):
    machine.enforcer().ensure(GPU_0, order("apollo", 1, ada), node_seen())
    machine.boot(mode=0o666)
    enforcer = machine.enforcer(policy=Policy(observe_only=True))

    with pytest.raises(Refused) as ordered:
        enforcer.ensure(GPU_0, order("apollo", 2, ada), node_seen())
    with pytest.raises(Refused) as switched_on:
        enforcer.set_mode("enforce", node_seen())
    enforcer.reconcile(node_seen())
    seen = enforcer.look(node_seen())[0]

    assert [codes_of(refused) for refused in (ordered, switched_on)] == ["observes_only", "observes_only"]
    assert (enforcer.mode, seen.holder, seen.draining) == ("observe", None, False)
    assert machine.mode_and_owner() == ("666", 0, 0)


def test_enforcement_that_is_switched_on_closes_what_nobody_was_ordered(machine, ada, bob, no_members):
    enforcer = machine.enforcer(mode="shadow")
    enforcer.ensure(GPU_0, order("apollo", 3, ada), node_seen())

    enforcer.set_mode("enforce", node_seen())
    seen = enforcer.look(node_seen())

    assert [gpu.holder for gpu in seen] == ["apollo", ""]
    assert [gpu.open_to for gpu in seen] == [(ada,), ()]
    assert machine.may_open(ada)


def test_the_mode_outlives_the_agent(machine, no_members):
    machine.enforcer(mode="shadow").set_mode("enforce", node_seen())
    kept = (machine.layout.state / "mode").read_text()

    machine.enforcer(mode=kept).set_mode("observe", node_seen())

    assert (kept, (machine.layout.state / "mode").read_text()) == ("enforce", "observe")


def test_a_mode_that_cannot_be_kept_is_not_taken(machine, no_members):
    enforcer = machine.enforcer(mode="shadow")
    (machine.layout.state / "mode.beside").mkdir()

    with pytest.raises(Refused) as refused:
        enforcer.set_mode("enforce", node_seen())

    assert (codes_of(refused), enforcer.mode) == ("not_ready", "shadow")


def test_a_mode_that_cannot_be_read_is_the_closed_one(machine):
    assert machine.enforcer(mode="\0\0").mode == "enforce"


@pytest.mark.parametrize(
    ("line", "instead", "found"),
    [
        ("DeviceFileMode: 432", "DeviceFileMode: 438", "driver parameter DeviceFileMode: 438 (0666)"),
        ("DeviceFileMode: 432", "DeviceFileMode: 660", "driver parameter DeviceFileMode: 660 (01224)"),
        ("DeviceFileGID: 0", "DeviceFileGID: 44", "driver parameter DeviceFileGID: 44"),
        ("DeviceFileUID: 0", "DeviceFileUID: 1000", "driver parameter DeviceFileUID: 1000"),
        ("ModifyDeviceFiles: 1", "ModifyDeviceFiles: 0", "driver parameter ModifyDeviceFiles: 0"),
        ("ModifyDeviceFiles: 1\n", "", "driver parameter ModifyDeviceFiles: not shown"),
    ],
)
def test_enforcement_waits_for_the_drivers_parameters(machine, ada, no_members, line, instead, found):
    """openSUSE/nvidia-driver-G06#52, vowstar-overlay#6: decimal and octal were mixed up."""
    (machine.layout.driver / "params").write_text(GOOD_PARAMS.replace(line, instead))
    enforcer = machine.enforcer(mode="shadow")

    with pytest.raises(Refused) as refused:
        enforcer.set_mode("enforce", node_seen())

    assert (codes_of(refused), refused.value.refusal.detail) == ("not_ready", found)
    assert enforcer.mode == "shadow"
    lacking = [check for check in enforcer.findings(node_seen()) if not check.passed]
    assert len(lacking) == 1
    assert "/etc/modprobe.d" in lacking[0].remedy


def test_a_node_that_has_all_is_ready(machine, no_members):
    checks = machine.enforcer(mode="shadow").findings(node_seen())

    assert [check.name for check in checks if not check.passed] == []
    assert f"access to {machine.node(GPU_0)}" in [check.name for check in checks]


@pytest.mark.parametrize("mode", [0o666, 0o600])
def test_enforcement_waits_for_devices_of_the_right_mode(machine, no_members, mode):
    machine.boot(mode=mode)

    with pytest.raises(Refused) as refused:
        machine.enforcer(mode="shadow").set_mode("enforce", node_seen())

    assert refused.value.refusal.detail.startswith(f"access to {machine.node(GPU_0)}: {mode:o} 0 0")


def test_enforcement_waits_for_devices_that_are_not_there(machine, no_members):
    machine.node().unlink()

    with pytest.raises(Refused) as refused:
        machine.enforcer(mode="shadow").set_mode("enforce", node_seen())

    assert refused.value.refusal.detail == f"device of {GPU_0}: {machine.node()}: No such file or directory"


def test_enforcement_that_lost_its_parameters_goes_on_and_says_so(machine, ada, bob):
    """A driver update dropped the file in /etc/modprobe.d: opening the devices would be worse."""
    machine.enforcer().ensure(GPU_0, order("apollo", 1, ada), node_seen())
    (machine.layout.driver / "params").write_text(GOOD_PARAMS.replace("432", "438"))
    machine.boot(mode=0o666)

    enforcer = machine.enforcer()
    enforcer.reconcile(node_seen())

    assert [fault.code for fault in enforcer.faults] == ["not_ready"]
    assert enforcer.faults[0].detail.startswith("driver parameter DeviceFileMode: 438 (0666). Write `options nvidia")
    assert [machine.may_open(uid) for uid in (ada, bob)] == [True, False]


def group(name: str, gid: int, *members: str) -> grp.struct_group:
    return grp.struct_group((name, "x", gid, list(members)))


def user(name: str, uid: int, gid: int) -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", uid, gid, "", "/", "/bin/sh"))


def test_users_as_good_as_root_are_named():
    groups = [group("root", 0, "root", "gil"), group("docker", 998, "ada"), group("lab", 1000, "bob")]
    users = [user("root", 0, 0), user("toor", 0, 0), user("cy", 1003, 998), user("bob", 1002, 1000)]

    check = group_check(groups, users)

    assert not check.passed
    assert check.found == "gil in root, ada in docker, cy in docker, toor has uid 0"
    assert group_check(groups[2:], [users[0], users[3]]).passed


def test_an_agent_without_its_rights_names_them(tmp_path):
    (tmp_path / "self").mkdir()
    (tmp_path / "self/status").write_text("Name:\tagent\nCapEff:\t0000000000000008\n")

    check = own_capability_check(tmp_path)

    assert check.found == "CAP_DAC_READ_SEARCH, CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SYS_PTRACE"


def test_a_driver_that_cannot_be_asked_is_no_unknown_gpu(machine, ada):
    enforcer = machine.enforcer()
    silent = node_seen()
    silent = type(silent)((), faults=(Fault("driver_not_loaded", "", 0.0),))

    with pytest.raises(Refused) as refused:
        enforcer.ensure(GPU_0, order("apollo", 1, ada), silent)

    assert codes_of(refused) == "not_ready"


def test_a_driver_that_cannot_be_asked_closes_nothing(machine, ada):
    enforcer = machine.enforcer()
    enforcer.ensure(GPU_0, order("apollo", 1, ada), node_seen())

    enforcer.reconcile(type(node_seen())((), faults=(Fault("driver_hung", "", 0.0),)))

    assert machine.may_open(ada)
