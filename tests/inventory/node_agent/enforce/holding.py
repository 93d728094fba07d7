"""Programs that hold a device in ways that a shell cannot: started as root, they become users on their own."""

import subprocess
import sys
from pathlib import Path

from tests.inventory.node_agent.enforce.machine import Machine, Opener

# Ada opens the device and hands her descriptor to Bob, who cannot open it himself, over a socket; then she ends.
PASS = """
import os, socket, sys
path, ada, bob = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
hers, his = socket.socketpair()
if os.fork() == 0:
    os.setresgid(ada, ada, ada), os.setgroups([]), os.setresuid(ada, ada, ada)
    socket.send_fds(hers, [b"x"], [os.open(path, os.O_RDWR)])
    os._exit(0)
os.setgroups([]), os.setresgid(bob, bob, bob), os.setresuid(bob, bob, bob)
hers.close()
os.wait()
try:
    os.open(path, os.O_RDWR)
except PermissionError:
    _, (descriptor,), _, _ = socket.recv_fds(his, 1, 1)
    print(os.read(descriptor, 8) == b"" and "in", flush=True)
sys.stdin.read()
"""
# The descriptor is closed; the mapping keeps the device open.
MAP = """
import mmap, os, sys
path, uid = sys.argv[1], int(sys.argv[2])
os.setgroups([]), os.setresgid(uid, uid, uid), os.setresuid(uid, uid, uid)
descriptor = os.open(path, os.O_RDWR)
mapped = mmap.mmap(descriptor, 4096, mmap.MAP_PRIVATE)
os.close(descriptor)
for each in os.listdir("/proc/self/fd"):
    try:
        if os.readlink("/proc/self/fd/" + each) == path: os.close(int(each))
    except OSError: pass
print("in", flush=True)
sys.stdin.read()
"""
# The first thread ends, which makes the process a zombie with a thread that still has the device open.
LEAVE_A_THREAD = """
import ctypes, os, platform, sys, threading
path, uid = sys.argv[1], int(sys.argv[2])
os.setgroups([]), os.setresgid(uid, uid, uid), os.setresuid(uid, uid, uid)
descriptor = os.open(path, os.O_RDWR)
exit_thread = {"x86_64": 60, "aarch64": 93}[platform.machine()]
def stay():
    while "Z" not in open("/proc/self/stat").read().rpartition(")")[2]: pass
    print("in", flush=True)
    sys.stdin.read()
threading.Thread(target=stay).start()
ctypes.CDLL(None).syscall(exit_thread, 0)
"""


def hold(machine: Machine, program: str, path: Path, *uids: int) -> Opener:
    """A process of the last user that has the device at `path` open in that way."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path), *map(str, uids)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    opener = Opener(process)
    machine.openers.append(opener)
    said = process.stdout.readline()
    assert said == "in\n", process.stderr.read()
    return opener
