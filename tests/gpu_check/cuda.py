"""A process of a user that has a GPU in use through the CUDA driver: it needs nothing but libcuda."""

import os
import subprocess
import sys
from dataclasses import dataclass

# An id that no account of a usual machine has; the check makes no users.
HELD_MIB = 64
PROGRAM = """
import ctypes, os, sys
uid, held = int(sys.argv[1]), int(sys.argv[2])
os.setgroups([]), os.setresgid(uid, uid, uid), os.setresuid(uid, uid, uid)
cuda = ctypes.CDLL("libcuda.so.1")
device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
for call in (
    lambda: cuda.cuInit(0),
    lambda: cuda.cuDeviceGet(ctypes.byref(device), 0),
    lambda: cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device),
    lambda: cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(held * 1024 * 1024)),
):
    code = call()
    if code:
        print("refused", code, flush=True)
        sys.exit(1)
print("in", flush=True)
sys.stdin.read()
"""


@dataclass
class Work:
    """The process, and whether the driver let it in."""

    process: subprocess.Popen
    is_in: bool

    def end(self) -> None:
        """It is gone."""
        self.process.kill()
        self.process.wait()


def work(uid: int, uuid: str) -> Work:
    """A process of that user that tries to use the GPU and stays if it may."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(uid), str(HELD_MIB)],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": uuid},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return Work(process, process.stdout.readline() == "in\n")
