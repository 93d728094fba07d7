"""Who runs what from a state folder: one lock a part, which the kernel takes back however its holder ends.

The lock file also names the child that runs, so that the next start can end one that outlived its supervisor.
"""

import contextlib
import fcntl
import json
import os
from pathlib import Path
from typing import Self

from portal.services.errors import AlreadyRunning
from portal.services.home import Home


class Claim:
    """The right to run the part `name` from a state folder, held until `release` or the end of this process."""

    def __init__(self, home: Home, name: str) -> None:
        self.name = name
        self._path = home.run / f"{name}.lock"
        self._file: int | None = None

    def take(self) -> Self:
        """The part is ours.

        Raises AlreadyRunning.
        """
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(file)
            holder = self._noted().get("supervisor", "unknown")
            raise AlreadyRunning(
                f"Allot already runs from {self._path.parents[1]} ({self.name}, started by process {holder}). "
                "Stop that one first, or set ALLOT_HOME to another folder for a second one."
            ) from error
        self._file = file
        return self

    def note(self, child: int) -> None:
        """The next start knows that process `child` runs this part."""
        noted = {"supervisor": os.getpid(), "child": child, "child_started": started_ticks(child)}
        self._write(json.dumps(noted))

    def leftover(self) -> int | None:
        """The process of an earlier start that still runs this part, None if there is none."""
        noted = self._noted()
        child, ticks = noted.get("child"), noted.get("child_started")
        # The start time tells it from a stranger that was given the same number later.
        return child if child and ticks and started_ticks(child) == ticks else None

    def release(self) -> None:
        """Anybody may take the part."""
        if self._file is not None:
            self._write("")
            os.close(self._file)
            self._file = None

    def _write(self, text: str) -> None:
        assert self._file is not None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, text.encode(), 0)

    def _noted(self) -> dict[str, int]:
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            noted: dict[str, int] = json.loads(self._path.read_text())
            return noted
        return {}


def started_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot (proc(5), field 22); None if it does not run any more."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else int(fields[19])
