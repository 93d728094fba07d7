"""The stand-in, compiled once a run, and a node made of it: its state file, its trace, its /proc, its PCI bus."""

import asyncio
import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from inventory.node_agent.probe import Probe, ProbeSettings
from inventory.node_agent.protocol import GpuSeen
from inventory.node_agent.seen import NodeSeen

HERE = Path(__file__).parent
HOST_PIDS = "pid:[4026531836]"
# The example files' cards sit here, as the stand-in numbers its slots.
SLOTS = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")
# No poll but those that a test asks for.
NEVER_S = 3600.0


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory) -> Path:
    """The folder that holds libnvidia-ml.so.1."""
    compiler = shutil.which("gcc")
    if compiler is None:
        if os.environ.get("ALLOT_REQUIRE_GCC"):
            pytest.fail("gcc is required here")
        pytest.skip("no gcc: the stand-in for NVIDIA's library cannot be compiled")
    folder = tmp_path_factory.mktemp("nvml")
    target = folder / "libnvidia-ml.so.1"
    flags = ["-shared", "-fPIC", "-O1", "-Wl,-soname,libnvidia-ml.so.1", "-o", str(target)]
    subprocess.run([compiler, *flags, str(HERE / "nvml_stub.c"), "-lpthread"], check=True)
    return folder


@pytest.fixture
def node(nvml_library, tmp_path) -> "StubNode":
    """A node without a card until a test writes its state."""
    node = StubNode(nvml_library, tmp_path)
    node.mount()
    return node


@dataclass
class StubNode:
    """A machine of files. `cards`: what `pci` shows."""

    library: Path
    root: Path
    state: Path = field(init=False)
    trace: Path = field(init=False)
    proc: Path = field(init=False)
    pci: Path = field(init=False)

    def __post_init__(self) -> None:
        self.state, self.trace = self.root / "node.state", self.root / "trace"
        self.proc, self.pci = self.root / "proc", self.root / "pci"

    def mount(self) -> None:
        """/proc of a host that booted at 1,700,000,000 with 1 TiB of memory, and a PCI bus without a card."""
        for name in ("self", "1"):
            (self.proc / name / "ns").mkdir(parents=True)
            (self.proc / name / "ns" / "pid").symlink_to(HOST_PIDS)
        (self.proc / "stat").write_text("cpu  1 2 3\nbtime 1700000000\n")
        (self.proc / "meminfo").write_text(f"MemTotal:       {1024**3} kB\nMemFree: 1 kB\n")
        self.pci.mkdir()

    def write(self, text: str) -> None:
        """The node's state is this, at once."""
        new = self.state.with_suffix(".new")
        new.write_text(text)
        new.replace(self.state)

    def add(self, text: str) -> None:
        """These lines hold from now on, over earlier ones."""
        self.write(f"{self.state.read_text()}\n{text}\n")

    def example(self, name: str) -> None:
        """The node is that of `examples/NAME.state`."""
        self.write((HERE / "examples" / f"{name}.state").read_text())

    def plug(self, *slots: str) -> None:
        """The PCI bus shows a card in each of these slots, and boards that are no cards."""
        for slot in (*slots, "00"):
            folder = self.pci / f"0000:{slot}:00.0"
            folder.mkdir()
            (folder / "vendor").write_text("0x10de\n" if slot != "00" else "0x8086\n")
            (folder / "class").write_text("0x030200\n" if slot != "00" else "0x060000\n")

    def process(self, pid: int, *, uid: int = 1005, name: str = "python3", cgroup: str = "/", **more: str) -> None:
        """/proc shows the process. `more`: state, ticks, loginuid."""
        folder = self.proc / str(pid)
        folder.mkdir(exist_ok=True)
        # Fields 3 to 22 of proc(5): the state first, the start in clock ticks last.
        fields = [more.get("state", "S"), *("1" for _ in range(18)), more.get("ticks", "1000")]
        (folder / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")
        (folder / "status").write_text(f"Name:\t{name}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n")
        (folder / "cgroup").write_text(f"0::{cgroup}\n")
        (folder / "loginuid").write_text(more.get("loginuid", "4294967295"))

    def ended(self, pid: int) -> None:
        """/proc shows the process no more."""
        shutil.rmtree(self.proc / str(pid))

    @property
    def environment(self) -> dict[str, str]:
        """With which a process finds this node's driver."""
        return {
            "LD_LIBRARY_PATH": str(self.library),
            "NVML_STUB_STATE": str(self.state),
            "NVML_STUB_TRACE": str(self.trace),
        }

    def settings(self, **changes) -> ProbeSettings:
        """Of a probe of this node that polls when it is told to."""
        environment = self.environment | changes.pop("environment", {})
        fixed = {"poll_every_s": NEVER_S, "proc": self.proc, "pci": self.pci, "environment": environment}
        return ProbeSettings(**fixed | changes)

    @contextmanager
    def probe(self, **changes) -> Iterator["Looking"]:
        """A probe that starts with the first look and stands still between two."""
        with asyncio.Runner() as runner:
            probe = Probe(self.settings(**changes))
            try:
                yield Looking(runner, probe)
            finally:
                runner.run(probe.close())

    def look(self, **changes) -> NodeSeen:
        """What a new probe sees in its first round."""
        with self.probe(**changes) as probe:
            return probe.look()

    def calls(self) -> list[tuple[str, str, str]]:
        """The calls so far: function, device ("-": none), NVML's answer."""
        lines = self.trace.read_text().splitlines() if self.trace.exists() else []
        return [tuple(line.split()[2:5]) for line in lines]

    def called(self) -> Counter[str]:
        """How often each function was called so far."""
        return Counter(function for function, _, _ in self.calls())


@dataclass
class Looking:
    """A probe, driven step by step."""

    runner: asyncio.Runner
    probe: Probe
    started: bool = False

    def look(self) -> NodeSeen:
        """What a whole round sees that begins now."""
        return self.runner.run(self._look())

    async def _look(self) -> NodeSeen:
        if not self.started:
            self.started = True
            await self.probe.start()
        return await self.probe.look()

    def replace_child(self) -> None:
        """The next round has a new child."""
        self.runner.run(self.probe._keeper.drop(kindly=True))

    def wait_until(self, at_s: float) -> None:
        """The loop runs until then, on the monotonic clock."""
        self.runner.run(asyncio.sleep(max(0.0, at_s - time.monotonic())))

    def poll(self, times: int = 1) -> NodeSeen:
        """What ordinary rounds see, as the timer starts them."""
        for _ in range(times):
            self.runner.run(self.probe._round(everything=False))
        return self.probe.seen()


def by_minor(seen: NodeSeen) -> dict[int | None, GpuSeen]:
    """The whole cards by N of /dev/nvidiaN."""
    return {gpu.minor: gpu for gpu in seen.gpus if gpu.kind == "gpu"}


def codes(faults) -> list[str]:
    """The codes of faults, sorted."""
    return sorted(fault.code for fault in faults)
