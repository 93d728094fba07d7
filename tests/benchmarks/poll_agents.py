"""Simulated agents for a poll of a large fleet: real ports, real TLS, several processes with some nodes each."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from inventory.simulator import Control, certificate_in
from portal.services.tether import tethered

# One process answers some 1,500 nodes a second of CPU; with four files a node it stays far below 20,000 open ones.
NODES_PER_PROCESS = 1_250
MODEL, MEMORY_MIB = "NVIDIA H100", 81_559
CONTROL_TOKEN = "bench"


class Agent(NamedTuple):
    """Where a simulated agent listens, and what it has."""

    name: str
    address: str
    token: str
    certificate_sha256: str
    uuids: list[str]


def allow_open_files() -> None:
    """This process and its children may open as many files as the system allows: a poll keeps a socket a node."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@contextmanager
def agents(nodes: int, *, gpus: int, folder: Path) -> Iterator[list[Agent]]:
    """n0, n1, ... answer until the block ends; every second card of theirs is held, by one of 16 projects."""
    with ExitStack() as running:
        parts = [range(first, min(first + NODES_PER_PROCESS, nodes)) for first in range(0, nodes, NODES_PER_PROCESS)]
        started = [running.enter_context(_fleet(part, gpus, folder / f"fleet-{part.start}")) for part in parts]
        yield [agent for state, control in started for agent in _enrolled(state, control)]


@contextmanager
def _fleet(numbers: range, gpus: int, state: Path) -> Iterator[tuple[Path, Control]]:
    state.mkdir(parents=True)
    listed = state / "nodes.json"
    specs = [
        {"name": f"n{number}", "model": MODEL, "gpus": gpus, "memory_mib": MEMORY_MIB, "token": f"token-{number}"}
        for number in numbers
    ]
    listed.write_text(json.dumps(specs))
    process = subprocess.Popen(
        # A bench that is killed must not leave thousands of ports taken.
        tethered([sys.executable, "-m", "inventory.simulator", str(listed), str(state)], death_signal=signal.SIGKILL),
        env=os.environ | {"SIMULATOR_CONTROL_TOKEN": CONTROL_TOKEN},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        ready = re.search(r"control port (\d+)", said)
        if ready is None:
            raise SystemExit(f"the simulated agents do not start: {said}{process.stderr.read()}")
        yield state, Control(port=int(ready[1]), token=CONTROL_TOKEN)
    finally:
        process.terminate()
        process.wait()


def _enrolled(state: Path, control: Control) -> list[Agent]:
    pin = certificate_in(state).sha256
    found = [
        Agent(node["name"], node["address"], f"token-{node['name'][1:]}", pin, [gpu["uuid"] for gpu in node["gpus"]])
        for node in control.fleet()["nodes"]
    ]
    control.seed_holders({uuid: (f"project-{uuid[4]}", 1) for agent in found for uuid in agent.uuids[::2]})
    return found
