"""Whose processes they are: from a /proc of files, and from the real one."""

import os
import pwd
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

from inventory.node_agent.probe.logins import Logins
from inventory.node_agent.probe.owners import Owners, foreign_pids
from inventory.node_agent.protocol import ProcessSeen


def owners(node, look_up=lambda uid: {1005: "alice"}[uid]) -> Owners:
    return Owners(node.proc, Logins(look_up))


def test_a_process_has_its_user_its_start_and_its_name(node):
    node.process(4242, name="my (odd) name", ticks="500")

    found = owners(node).of({4242: 9000})

    assert found == (ProcessSeen(4242, "alice", 1_700_000_005.0, 9000, 1005, "my (odd) name", "", False),)


def test_a_user_without_a_login_is_a_number(node):
    node.process(4242, uid=77777)

    [found] = owners(node).of({4242: None})

    assert (found.user, found.uid) == ("77777", 77777)


def test_a_name_that_is_no_text_is_made_one(node):
    node.process(4242, name="a\nb\x07")

    [found] = owners(node).of({4242: None})

    assert found.name == "a?b?"


def test_a_process_that_was_gone_before_anybody_looked_has_a_row(node):
    found = owners(node).of({4242: 9000, 4243: 0})

    assert found == (
        ProcessSeen(4242, "?", 0.0, 9000, zombie=True),
        # Nothing is held: it ends, or it ended while the list was made.
        ProcessSeen(4243, "?", 0.0, 0, zombie=False),
    )


def test_a_number_that_came_back_is_another_process(node):
    """Keyed by pid and start: the new one's user is not blamed for the old one's memory, nor the other way round."""
    node.process(4242, uid=1005, ticks="500", cgroup="/system.slice/gpu-lease-42.scope")
    known = owners(node)
    known.of({4242: 1})
    node.process(4242, uid=77777, ticks="900", state="Z")

    [found] = known.of({4242: 1})

    assert (found.uid, found.job, found.started_at_s) == (77777, "", 1_700_000_009.0)


def test_a_sighting_is_forgotten_with_the_list(node):
    node.process(4242)
    known = owners(node)
    known.of({4242: 1})
    known.forget_all_but(set())
    node.ended(4242)

    [found] = known.of({4242: 1})

    assert found.user == "?"


def test_who_became_root_is_named_by_the_login(node):
    node.process(1, uid=0, loginuid="1005")
    node.process(2, uid=0)
    node.process(3, uid=0, loginuid="1005", cgroup="/system.slice/gpu-lease-42.scope")

    found = owners(node, look_up=lambda uid: "root").of({1: 1, 2: 1, 3: 1})

    assert [(process.user, process.job) for process in found] == [
        ("root", "login:1005"),
        ("root", ""),
        ("root", "lease:42"),
    ]


def test_a_directory_of_users_that_hangs_costs_numbers_not_time(node, monkeypatch):
    monkeypatch.setattr("inventory.node_agent.probe.logins.ANSWER_WITHIN_S", 0.05)
    back = Event()
    known = owners(node, look_up=lambda uid: "late" if back.wait(30) else "")
    node.process(4242)
    node.process(4243, uid=1006)

    first = known.of({4242: 1, 4243: 1})
    back.set()
    known._logins._asking.join()

    assert [process.user for process in first] == ["1005", "1006"]
    assert [process.user for process in known.of({4242: 1})] == ["late"]


def test_real_processes_are_read_as_they_are():
    before_s = time.time()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        [found] = Owners(Path("/proc"), Logins()).of({child.pid: 5})
    finally:
        child.communicate(b"\n")

    assert (found.uid, found.user, found.zombie) == (os.getuid(), pwd.getpwuid(os.getuid()).pw_name, False)
    assert before_s - 2 <= found.started_at_s <= time.time() + 2


def test_a_real_zombie_is_one():
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    [found] = Owners(Path("/proc"), Logins()).of({child.pid: 5})

    child.wait()
    assert (found.zombie, found.uid) == (True, os.getuid())


def test_the_hosts_own_pids_are_known_by_its_namespace(node):
    host = foreign_pids(node.proc)
    (node.proc / "self" / "ns" / "pid").unlink()
    (node.proc / "self" / "ns" / "pid").symlink_to("pid:[4026533001]")

    # The host's /proc mounted into a container shows the host's pids.
    assert (host, foreign_pids(node.proc)) == ("", "")


def test_an_unknown_namespace_is_foreign(tmp_path):
    assert foreign_pids(tmp_path) == "pids here are of an unknown namespace, the driver's are the host's"
