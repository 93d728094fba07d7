"""Who has a GPU's device open: found by open descriptors, whatever the path they were opened by."""

import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from inventory.node_agent.enforce.devices import DeviceNode, Key

ROOT = 0
STATUS = re.compile(r"^(Name|State|Uid):\s+(\S+)", re.M)


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a device open. `started_ticks` with the pid names it for ever; `state`: R S D T Z as in ps."""

    pid: int
    uid: int
    started_ticks: int
    state: str
    name: str

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid}, uid {self.uid})"


@dataclass(frozen=True, slots=True)
class Found:
    """Device -> who has it open. `is_whole`: whether every process of other users than root could be looked at."""

    by_key: Mapping[Key, tuple[Holder, ...]]
    is_whole: bool


def find_holders(proc: Path, nodes: Iterable[DeviceNode], *, thorough: bool = False) -> Found:
    """Who has any of `nodes` open now.

    `thorough` also finds what only hides: descriptors that a thread keeps apart from its process, and mappings whose
    descriptor was closed. It costs several times as much, so that it is for the end of a drain.
    """
    wanted = {node.key: node for node in nodes}
    by_inode = {node.inode: node.key for node in wanted.values()}
    found: dict[Key, list[Holder]] = defaultdict(list)
    is_whole = True
    for pid in sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()):
        try:
            keys = set(_open_keys(proc / str(pid), thorough)) & wanted.keys()
            if thorough:
                keys |= set(_mapped_keys(proc / str(pid), by_inode))
        except PermissionError:
            unseen = look_at(proc, pid)
            # Root's descriptors count for nothing, and a process with more rights than ours cannot be looked into.
            is_whole = is_whole and (unseen is None or unseen.uid == ROOT)
            continue
        holder = look_at(proc, pid) if keys else None
        for key in keys if holder else ():
            assert holder is not None
            found[key].append(holder)
    return Found({key: tuple(holders) for key, holders in found.items()}, is_whole)


def look_at(proc: Path, pid: int) -> Holder | None:
    """The process as it is now, by its real user; None if there is none."""
    try:
        told = (proc / str(pid) / "stat").read_text(errors="replace")
        status = dict(STATUS.findall((proc / str(pid) / "status").read_text(errors="replace")))
    except OSError:
        return None
    # proc(5): the name in brackets may hold anything; of what follows it the 20th field is the start in clock ticks.
    fields = told.rpartition(")")[2].split()
    return Holder(pid, int(status["Uid"]), int(fields[19]), status["State"], status["Name"])


def started_at_s(proc: Path, holder: Holder) -> float:
    """When the process began, in Unix time."""
    booted = re.search(r"^btime (\d+)$", (proc / "stat").read_text(), re.M)
    assert booted is not None
    return int(booted[1]) + holder.started_ticks / os.sysconf("SC_CLK_TCK")


def _open_keys(process: Path, thorough: bool) -> Iterator[Key]:
    directories = [process / "fd"]
    with suppress(FileNotFoundError, ProcessLookupError):
        # A process whose first thread has ended shows no descriptors; those of its other threads live on.
        if thorough or _is_zombie(process):
            directories += sorted((process / "task").glob("*/fd"))
    for directory in directories:
        with suppress(FileNotFoundError, ProcessLookupError):
            for descriptor in directory.iterdir():
                yield from _key_of(str(descriptor))


def _key_of(descriptor: str) -> Iterator[Key]:
    with suppress(FileNotFoundError, ProcessLookupError):
        target = os.readlink(descriptor)  # noqa: PTH115 - one of very many
        # stat on a file of a dead file server never comes back; devices lie under /dev or bear the driver's name.
        if target.startswith("/dev/") or "nvidia" in target:
            status = os.stat(descriptor)  # noqa: PTH116 - as above
            if stat.S_ISCHR(status.st_mode):
                yield "number", status.st_rdev, 0
                yield "inode", status.st_dev, status.st_ino


def _is_zombie(process: Path) -> bool:
    told = (process / "stat").read_text(errors="replace")
    return told.rpartition(")")[2].split()[0] == "Z"


def _mapped_keys(process: Path, by_inode: Mapping[tuple[int, int], Key]) -> Iterator[Key]:
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in (process / "maps").read_text(errors="replace").splitlines():
            if "/" in line:
                _range, _permissions, _offset, device, inode, _path = line.split(maxsplit=5)
                major, _, minor = device.partition(":")
                key = by_inode.get((os.makedev(int(major, 16), int(minor, 16)), int(inode)))
                if key is not None:
                    yield key
