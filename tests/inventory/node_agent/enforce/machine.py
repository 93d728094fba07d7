"""A machine for enforcement: device nodes that can be opened, the driver's tables beside them, processes of users."""

import os
import signal
import stat
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from inventory.node_agent.enforce import Enforcer, Layout, Policy
from inventory.node_agent.protocol import Eviction, GpuSeen, Order, ProcessSeen, Value
from inventory.node_agent.seen import NodeSeen

GPU_0, GPU_1 = "GPU-00000000-aaaa", "GPU-11111111-bbbb"
UNKNOWN = Value(None, "n/a", 0.0)
GOOD_PARAMS = "ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 432\n"
# As nvidia-modprobe and the driver make them: /dev/null's number here, so that they can be opened without a driver.
NULL, ZERO = os.makedev(1, 3), os.makedev(1, 5)
# A process of a test has this long to say its first word.
START_LIMIT_S = 20


@dataclass
class Clock:
    """Both clocks of the agent; a test moves them on."""

    now_s: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Opener:
    """A process of a user that has a device open until it is told to end; `uid` is real."""

    process: subprocess.Popen

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def ended_by(self) -> int:
        """The signal that ended it."""
        return -self.process.wait(START_LIMIT_S)

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


@dataclass
class Machine:
    """Two GPUs with minors 4 and 0 (an index is not a minor), and what users run on them."""

    root: Path
    minors: dict[str, int] = field(default_factory=lambda: {GPU_0: 4, GPU_1: 0})
    clock: Clock = field(default_factory=Clock)
    openers: list[Opener] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.layout = Layout(self.root / "state", self.root / "dev", Path("/proc"), self.root / "driver/nvidia")
        self.layout.devices.mkdir()
        self.layout.driver.mkdir(parents=True)
        (self.layout.driver / "params").write_text(GOOD_PARAMS)
        for slot, (uuid, minor) in enumerate(self.minors.items()):
            self.add_card(uuid, minor, slot)
        self.boot()

    def add_card(self, uuid: str, minor: int, slot: int) -> None:
        card = self.layout.driver / f"gpus/0000:{slot:02x}:00.0"
        card.mkdir(parents=True, exist_ok=True)
        said = f"Model: \t\t NVIDIA H100\nGPU UUID: \t {uuid}\nBus Location: \t 0000:{slot:02x}:00.0\n"
        (card / "information").write_text(f"{said}Device Minor: \t {minor}\n")

    def boot(self, mode: int = 0o660, number: int = NULL) -> None:
        """The nodes come back as the driver makes them: new inodes, root's, without access lists."""
        for minor in self.minors.values():
            path = self.layout.devices / f"nvidia{minor}"
            path.unlink(missing_ok=True)
            make_node(path, mode, number)

    def node(self, uuid: str = GPU_0) -> Path:
        return self.layout.devices / f"nvidia{self.minors[uuid]}"

    def enforcer(self, *, mode: str = "enforce", policy: Policy | None = None, **options) -> Enforcer:
        """An agent that starts with what is on disk, in that mode."""
        self.layout.state.mkdir(exist_ok=True)
        (self.layout.state / "mode").write_text(mode)
        return Enforcer(self.layout, policy or Policy(grace_s=30.0), clock=self.clock, steady=self.clock, **options)

    def open_as(self, uid: int, uuid: str = GPU_0, *, stubborn: bool = False) -> Opener | None:
        """A process of that user with the device open, None if it was kept out. `stubborn`: SIGTERM does not end it."""
        script = ('trap "" TERM; ' if stubborn else "") + 'exec 3<>"$0" && echo in && exec cat'
        opener = Opener(as_user(uid, ["/bin/sh", "-c", script, str(self.node(uuid))]))
        if opener.process.stdout.readline() == "in\n":
            self.openers.append(opener)
            return opener
        opener.end()
        return None

    def may_open(self, uid: int, uuid: str = GPU_0) -> bool:
        opener = self.open_as(uid, uuid)
        if opener is None:
            return False
        self.openers.remove(opener)
        opener.end()
        return True

    def mode_and_owner(self, uuid: str = GPU_0) -> tuple[str, int, int]:
        status = self.node(uuid).stat()
        return f"{stat.S_IMODE(status.st_mode):o}", status.st_uid, status.st_gid


def make_node(path: Path, mode: int, number: int) -> None:
    os.mknod(path, stat.S_IFCHR, number)
    path.chmod(mode)


def as_user(uid: int, command: list[str]) -> subprocess.Popen:
    return subprocess.Popen(
        command,
        user=uid,
        group=uid,
        extra_groups=[],
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def card(uuid: str = GPU_0, *, processes: tuple[ProcessSeen, ...] | None = (), **fields) -> GpuSeen:
    """A GPU as the probe shows it: nobody's yet."""
    slot = {GPU_0: 0, GPU_1: 1}.get(uuid, 2)
    minor = {GPU_0: 4, GPU_1: 0}.get(uuid)
    values = {
        "uuid": uuid,
        "pci_bus_id": f"00000000:{slot:02X}:00.0",
        "kind": "gpu",
        "parent_uuid": None,
        "model": "NVIDIA H100",
        "memory_total_mib": 81_559,
        "lost": False,
        "holder": None,
        "generation": 0,
        "draining": False,
        "util_pct": UNKNOWN,
        "mem_used_mib": UNKNOWN,
        "power_w": UNKNOWN,
        "temperature_c": UNKNOWN,
        "processes": processes,
        "minor": minor,
    }
    return GpuSeen(**(values | fields))


def node_seen(*gpus: GpuSeen, **fields) -> NodeSeen:
    """What the probe found; both cards, empty, unless others are given."""
    return NodeSeen(gpus or (card(GPU_0), card(GPU_1)), **fields)


def listed(pid: int, uid: int | None, **fields) -> ProcessSeen:
    """A process as NVML lists it."""
    return ProcessSeen(pid, str(uid), 0.0, None, uid, **fields)


def order(holder: str, generation: int, *unix_ids: int, revision: int = 0, eviction=None) -> Order:
    return Order(holder, generation, revision, unix_ids, eviction)


def authority(clock: Clock, *, lasts_s: float = 600.0) -> Eviction:
    """The authority to end processes, from now on."""
    return Eviction("ops", "the lead of apollo", datetime.fromtimestamp(clock() + lasts_s, UTC))
