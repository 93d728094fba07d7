"""Starting the supervisor for a test, and finding what it leaves."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from portal.services.home import CHECKOUT

START_LIMIT_S = 60.0  # a loaded machine; takes 1 s
END_LIMIT_S = 5.0  # what `make demo` promises for Ctrl-C


class Started:
    """A run of the supervisor and what it said so far."""

    def __init__(self, popen: subprocess.Popen[bytes], home: Path, output: Path) -> None:
        self.popen, self.home, self.output = popen, home, output

    @property
    def said(self) -> str:
        return self.output.read_text()

    def until_said(self, pattern: str) -> None:
        until(lambda: re.search(pattern, self.said) or self.popen.poll() is not None, START_LIMIT_S)
        assert re.search(pattern, self.said), self.said

    def end(self, number: signal.Signals) -> float:
        """Seconds until it ended."""
        began_s = time.monotonic()
        self.popen.send_signal(number)
        self.popen.wait(START_LIMIT_S)
        return time.monotonic() - began_s


@contextmanager
def started(
    home: Path,
    *command: str,
    env: Mapping[str, str] | None = None,
    before: tuple[str, ...] = (),
    python: str = sys.executable,
    **popen: Any,
) -> Iterator[Started]:
    """The supervisor runs from the state folder `home`; inside the block it may end in any way."""
    output = home.with_name(f"{home.name}-{time.monotonic_ns()}.said")
    clean = {key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "REDIS_URL"}}
    others = set(left(home))  # of a run around this one, which lives on
    with output.open("wb") as file:
        run = subprocess.Popen(
            [*before, python, *command],
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=CHECKOUT,
            env={**clean, "ALLOT_HOME": str(home), **(env or {})},
            **popen,
        )
    try:
        yield Started(run, home, output)
    finally:
        if run.poll() is None:
            run.terminate()
            try:
                run.wait(START_LIMIT_S)
            finally:
                run.kill()
        for pid in set(left(home)) - others:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def stand_in(*parts: str) -> tuple[str, ...]:
    return ("-m", "tests.portal.services.stand_in", *parts)


def left(home: Path) -> list[int]:
    """The processes that were started from the state folder and still run."""
    mark, found = str(home).encode(), []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                told = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
                told += bytes((folder / "cwd").readlink())  # PostgreSQL's own children have neither
            except OSError:
                continue
            if mark in told:
                found.append(int(folder.name))
    return found


def until(predicate: Callable[[], object], limit_s: float) -> None:
    """Returns once `predicate` holds, or after the limit."""
    deadline_s = time.monotonic() + limit_s
    while not predicate() and time.monotonic() < deadline_s:
        time.sleep(0.02)
