"""The built file puts itself into its place on a node, with its service; the same again is an upgrade."""

import pkgutil
import shutil
import subprocess
import zipfile
from pathlib import Path

PROGRAM = Path("usr/local/bin/allot-agent")
FILES = {
    "allot-agent.service": Path("etc/systemd/system"),
    "allot-agent-driver.service": Path("etc/systemd/system"),
    "71-allot-agent.rules": Path("etc/udev/rules.d"),
}
# systemd's own sign that it runs this machine (sd_booted(3)).
SYSTEMD = Path("run/systemd/system")
RELOADS = (
    ("systemctl", "daemon-reload"),
    ("udevadm", "control", "--reload"),
    # A program that is replaced beneath a running agent must not go on half old.
    ("systemctl", "try-restart", "allot-agent.service"),
)
RELOAD_TIMEOUT_S = 60
EXECUTABLE, READABLE = 0o755, 0o644


class CannotInstall(Exception):
    """It cannot put itself there; the text says why."""


def install(program: Path, root: Path) -> list[Path]:
    """The program and its service lie under `root`, and systemd knows them if it runs there; what was written.

    Raises CannotInstall, OSError.
    """
    if not zipfile.is_zipfile(program):
        raise CannotInstall("only the built file installs itself: make agent")
    files = {name: pkgutil.get_data(__package__, name) for name in FILES}
    written = [_put(root / PROGRAM, program.read_bytes(), EXECUTABLE)]
    for name, content in files.items():
        assert content is not None, f"{name} was not packed"
        written.append(_put(root / FILES[name] / name, content, READABLE))
    if (root / SYSTEMD).is_dir():
        for command in RELOADS:
            if shutil.which(command[0]):
                subprocess.run(command, check=False, timeout=RELOAD_TIMEOUT_S)
    return written


def _put(path: Path, content: bytes, mode: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".beside")
    beside.write_bytes(content)
    beside.chmod(mode)
    beside.replace(path)
    return path
