"""Whose the processes are that the driver lists: from /proc, and from the last look where they are gone."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from inventory.node_agent.probe.cgroups import job_of
from inventory.node_agent.probe.logins import Logins
from inventory.node_agent.protocol import ProcessSeen

# The first pid namespace of every Linux (include/linux/proc_ns.h: PROC_PID_INIT_INO).
HOST_PIDS = "pid:[4026531836]"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
NOBODY_KNOWS = "?"
UNSET_LOGIN = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Sighting:
    """A process as /proc showed it. `started_ticks` tells it from others of the same pid in one boot."""

    started_ticks: int
    uid: int
    name: str
    job: str
    zombie: bool


class Owners:
    """Reads /proc; never the environment or the command line, which are the user's to write and may hold secrets."""

    def __init__(self, proc: Path, logins: Logins) -> None:
        self._proc = proc
        self._logins = logins
        self._seen: dict[int, Sighting] = {}
        # Read once: the kernel works it out anew from the clock each time, and a start must not wander.
        self._booted_at_s = _booted_at_s(proc)

    def of(self, mem_mib_of: dict[int, int | None]) -> tuple[ProcessSeen, ...]:
        """One row a pid, in their order: no row is dropped because its process is gone."""
        return tuple(self._row(pid, mem_mib) for pid, mem_mib in sorted(mem_mib_of.items()))

    def forget_all_but(self, pids: set[int]) -> None:
        """Sightings of pids that no card lists any more are dropped: the number may come back as another process."""
        self._seen = {pid: seen for pid, seen in self._seen.items() if pid in pids}

    def _row(self, pid: int, mem_mib: int | None) -> ProcessSeen:
        now, before = self._look(pid), self._seen.get(pid)
        if now is not None and now.zombie and before is not None and before.started_ticks == now.started_ticks:
            # A zombie has left its cgroup in some versions of the kernel.
            now = Sighting(now.started_ticks, now.uid, now.name, now.job or before.job, zombie=True)
        if now is not None:
            self._seen[pid] = now
        seen = now or before
        # Memory without a process: as a zombie, it does not go away by itself.
        zombie = now.zombie if now is not None else mem_mib != 0
        if seen is None:
            return ProcessSeen(pid, NOBODY_KNOWS, 0.0, mem_mib, zombie=zombie)
        started_at_s = self._booted_at_s + seen.started_ticks / TICKS_PER_S
        login = self._logins.of(seen.uid)
        return ProcessSeen(pid, login, started_at_s, mem_mib, seen.uid, seen.name, seen.job, zombie)

    def _look(self, pid: int) -> Sighting | None:
        folder = self._proc / str(pid)
        try:
            state, started_ticks, name = _stat(folder)
            uid = next(int(line.split()[1]) for line in _lines(folder / "status") if line.startswith("Uid:"))
            job = job_of((folder / "cgroup").read_text(errors="replace")) or self._login_job(folder, uid)
            # The pid may have become another process between the first file and the last.
            return Sighting(started_ticks, uid, name, job, state == "Z") if _stat(folder)[1] == started_ticks else None
        except (OSError, StopIteration, ValueError, IndexError):
            return None

    def _login_job(self, folder: Path, uid: int) -> str:
        """Who logged in and became root: set once by PAM, kept through sudo and su."""
        if uid != 0:
            return ""
        try:
            login_uid = int((folder / "loginuid").read_text())
        except (OSError, ValueError):
            return ""
        return f"login:{login_uid}" if 0 < login_uid < UNSET_LOGIN else ""


def foreign_pids(proc: Path) -> str:
    """Why the driver's pids are not those of `proc`; "" if they are. The driver knows the host's only."""
    # 1 is the host's where its /proc was mounted into a container.
    links = [proc / name / "ns" / "pid" for name in ("self", "1")]
    seen = []
    for link in links:
        with suppress(OSError):
            seen.append(link.readlink().name)
    if HOST_PIDS in seen:
        return ""
    return f"pids here are of {' and '.join(seen) or 'an unknown namespace'}, the driver's are the host's"


def _stat(folder: Path) -> tuple[str, int, str]:
    """State, start in clock ticks since boot, and name. A name may hold spaces and brackets."""
    before, _, after = (folder / "stat").read_text(errors="replace").rpartition(")")
    fields = after.split()
    name = before.partition("(")[2]
    return fields[0], int(fields[19]), "".join(sign if sign.isprintable() else "?" for sign in name)


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines()


def _booted_at_s(proc: Path) -> float:
    try:
        return float(next(line.split()[1] for line in _lines(proc / "stat") if line.startswith("btime ")))
    except (OSError, StopIteration, ValueError, IndexError):
        return 0.0
