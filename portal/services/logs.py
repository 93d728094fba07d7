"""What a child says: kept in a file of its own, its errors also shown on the terminal."""

import re
from pathlib import Path
from typing import IO

# Enough to find out what happened last week, too little to fill a disk: two files of this size a child.
LOG_LIMIT_BYTES = 20_000_000
# A broken child may fail on each request; the terminal stays readable, the file has the rest.
SHOWN_LINES_A_LOOK = 20
SHOWN_LINE_CHARACTERS = 400
TROUBLE = re.compile(r"\b(ERROR|CRITICAL|FATAL|PANIC)\b|Traceback|level='(error|critical)'")


class ChildLog:
    """The log file of one child; it is appended to over restarts."""

    def __init__(self, path: Path, trouble: re.Pattern[str] = TROUBLE) -> None:
        self.path = path
        self._trouble = trouble
        self.path.touch(mode=0o600)
        self._seen_bytes = self.path.stat().st_size

    def open(self) -> IO[bytes]:
        """A file for the child's output. It appends, so that cutting the file under a running child is safe."""
        return self.path.open("ab")

    def new_troubles(self) -> list[str]:
        """The lines since the last call that tell of an error, oldest first."""
        size = self.path.stat().st_size
        with self.path.open("rb") as file:
            file.seek(min(self._seen_bytes, size))
            fresh = file.read(1_000_000).decode(errors="replace")
        self._seen_bytes = size
        if size > LOG_LIMIT_BYTES:
            self._turn_over()
        troubles = [line for line in fresh.splitlines() if self._trouble.search(line)]
        return [line[:SHOWN_LINE_CHARACTERS] for line in troubles[:SHOWN_LINES_A_LOOK]]

    def last_lines(self, count: int) -> list[str]:
        """The end of the log."""
        with self.path.open("rb") as file:
            file.seek(max(0, self.path.stat().st_size - 20_000))
            return file.read().decode(errors="replace").splitlines()[-count:]

    def _turn_over(self) -> None:
        self.path.with_suffix(".log.1").write_bytes(self.path.read_bytes())
        with self.path.open("r+b") as file:
            file.truncate(0)
        self._seen_bytes = 0
