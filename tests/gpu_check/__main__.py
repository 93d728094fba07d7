"""`make gpu-check`: the node agent's probe and enforcement on a real GPU, with real NVML, ACLs and CUDA.

For root on a machine with an NVIDIA GPU that nobody else uses. Leaves the driver's settings alone and puts the access
lists of the devices back as they were.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from inventory.node_agent.enforce import Enforcer, Layout, Policy
from inventory.node_agent.probe import Probe
from inventory.node_agent.protocol import Eviction, GpuSeen, Order
from inventory.node_agent.seen import NodeSeen
from tests.gpu_check.cuda import HELD_MIB, work

ADA, BOB = 64_101, 64_102
GRACE_S = 5.0
# A drain ends with the next look of the probe at the processes; a driver takes seconds to let go of a context.
LIMIT_S = 60


class Check:
    """Prints what held and what did not."""

    def __init__(self) -> None:
        self.failed = 0

    def that(self, what: str, holds: bool, found: object = "") -> None:
        """One line."""
        self.failed += not holds
        print(f"{'held' if holds else 'FAILED'}: {what}{f' ({found})' if found != '' else ''}", flush=True)


async def check(probe: Probe, state: Path) -> int:
    """The number of things that did not hold."""
    told, seen = Check(), await probe.look()
    told.that("NVML is there", bool(seen.gpus), seen.driver or seen.faults)
    if not seen.gpus:
        return told.failed
    gpu = seen.gpus[0]
    for name in ("util_pct", "mem_used_mib", "power_w", "temperature_c", "energy_j"):
        value = getattr(gpu, name)
        told.that(f"{name} is measured or has a reason", value.value is not None or bool(value.reason), value)
    enforcer = Enforcer(Layout(state=state), Policy(grace_s=GRACE_S))
    for found in enforcer.findings(seen):
        print(f"doctor: {'ok' if found.passed else 'lacks'} {found.name}: {found.found}", flush=True)
    enforcer.ensure(gpu.uuid, Order("apollo", 1, 1, (ADA,)), seen)
    ada, bob = work(ADA, gpu.uuid), work(BOB, gpu.uuid)
    told.that("the holder uses the GPU", ada.is_in)
    told.that("a stranger does not", not bob.is_in)
    seen = await _until(probe, lambda card: any(each.pid == ada.process.pid for each in card.processes or ()))
    mine = [each for each in _card(seen, gpu.uuid).processes or () if each.pid == ada.process.pid]
    told.that("NVML lists the holder's process", [each.uid for each in mine] == [ADA], mine)
    told.that("with its memory", bool(mine) and (mine[0].mem_mib or 0) >= HELD_MIB)
    until = datetime.now(UTC) + timedelta(minutes=5)
    enforcer.ensure(gpu.uuid, Order("borealis", 2, 1, (BOB,), Eviction("ops", "the lead", until)), seen)
    began = time.monotonic()
    await _reach(probe, enforcer, gpu.uuid, "borealis")
    told.that(
        "a revoked holder's process has ended", ada.process.poll() is not None, f"{time.monotonic() - began:.1f} s"
    )
    told.that(
        "the device reads back as the next holder's", _holder(enforcer, await probe.look(), gpu.uuid) == "borealis"
    )
    ada_again, bob_now = work(ADA, gpu.uuid), work(BOB, gpu.uuid)
    told.that("the next holder uses the GPU", bob_now.is_in)
    told.that("the one before does not any more", not ada_again.is_in)
    for each in (ada, bob, ada_again, bob_now):
        each.end()
    return told.failed


def _card(seen: NodeSeen, uuid: str) -> GpuSeen:
    return next(gpu for gpu in seen.gpus if gpu.uuid == uuid)


def _holder(enforcer: Enforcer, seen: NodeSeen, uuid: str) -> str | None:
    return next(gpu.holder for gpu in enforcer.look(seen) if gpu.uuid == uuid)


async def _until(probe: Probe, is_so: Callable[[GpuSeen], bool]) -> NodeSeen:
    ends_at = time.monotonic() + LIMIT_S
    while True:
        seen = await probe.look()
        if is_so(seen.gpus[0]) or time.monotonic() > ends_at:
            return seen
        await asyncio.sleep(1)


async def _reach(probe: Probe, enforcer: Enforcer, uuid: str, holder: str) -> None:
    ends_at = time.monotonic() + LIMIT_S
    while time.monotonic() < ends_at:
        seen = await probe.look()
        enforcer.reconcile(seen)
        if _holder(enforcer, seen, uuid) == holder:
            return
        await asyncio.sleep(1)


async def main() -> int:
    """The exit status."""
    lacking = [name for name in ("setfacl", "getfacl") if shutil.which(name) is None]
    if os.geteuid() != 0 or not Path("/dev/nvidia0").exists() or lacking:
        print("gpu-check: needs root, /dev/nvidia0, setfacl and getfacl; nothing was checked", flush=True)
        return 0
    devices = sorted(str(path) for path in Path("/dev").glob("nvidia*") if path.is_char_device())
    before = subprocess.run(["getfacl", "-p", *devices], check=True, capture_output=True).stdout
    probe = Probe()
    await probe.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "mode").write_text("enforce")
            failed = await check(probe, Path(folder))
    finally:
        await probe.close()
        subprocess.run(["setfacl", "--restore=-"], check=True, input=before)
    return 1 if failed else 0


sys.exit(asyncio.run(main()))
