"""Agents as real processes, in folders of their own, on the stand-in for NVIDIA's library."""

import os
import random
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from inventory.node_agent.certificate import fingerprint, make_certificate
from inventory.node_agent.identity import Identity, Places, write_identity
from inventory.node_agent.tokens import first_token

START_LIMIT_S = 60  # takes one second; the machine may be busy
FROM_SOURCE = (sys.executable, "-m", "inventory.node_agent")
HOST = "127.0.0.1"
# Outgoing connections get theirs from 32768 on.
PORTS = range(20_000, 32_000)


def free_port() -> int:
    """A port on which nobody listens now, and that Linux gives to no outgoing connection meanwhile."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind((HOST, port))
            return port


@dataclass
class AgentProcess:
    """One node's agent. `environment`: with which it finds its driver; `command`: how it is started."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = FROM_SOURCE
    options: str = ""
    port: int = field(default_factory=free_port)
    process: subprocess.Popen | None = None

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.places = Places(self.root / "state")
        for name in ("dev", "pci", "driver"):
            (self.root / name).mkdir(exist_ok=True)
        self.config = self.root / "agent.toml"
        self.config.write_text(
            f'state_dir = "{self.places.state}"\nlisten = "{HOST}"\npoll_every_s = 0.3\n'
            f'device_dir = "{self.root / "dev"}"\npci_dir = "{self.root / "pci"}"\n'
            f'driver_dir = "{self.root / "driver"}"\n{self.options}\n'
        )

    def call(self, *arguments: str, **told) -> subprocess.CompletedProcess[str]:
        """The command has ended."""
        command = (*self.command, "--config", str(self.config), *arguments)
        return subprocess.run(
            command, env=self._environment(), capture_output=True, text=True, timeout=START_LIMIT_S, **told
        )

    def be(self, node: str, token: str) -> str:
        """It has joined as that node, without a portal; the SHA-256 of its certificate."""
        self.places.state.mkdir(exist_ok=True)
        make_certificate(self.places.tls)
        first_token(self.places.tokens, token)
        write_identity(self.places, Identity(node, "https://portal.example", self.port))
        return fingerprint(self.places.tls)

    def start(self, *arguments: str) -> None:
        """It listens."""
        command = (*self.command, "--config", str(self.config), "run", *arguments)
        self.process = subprocess.Popen(command, env=self._environment(), stderr=subprocess.PIPE, text=True)
        said = self.heard("listens on port")
        assert said, f"it ended with {self.process.wait()}"

    def heard(self, words: str) -> str:
        """The line of its log that holds these words; "" if it ended without."""
        assert self.process is not None and self.process.stderr is not None
        for line in self.process.stderr:
            if words in line:
                return line
        return ""

    def stop(self) -> int:
        """It was told to end and has; its exit status."""
        assert self.process is not None
        self.process.terminate()
        status = self.process.wait(START_LIMIT_S)
        self.process.stderr.close()
        self.process = None
        return status

    def kill(self) -> None:
        """SIGKILL, if it runs."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stderr.close()
            self.process = None

    def _environment(self) -> dict[str, str]:
        return os.environ | self.environment
