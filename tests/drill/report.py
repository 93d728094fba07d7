"""A line a step: what held, what failed, and after how many seconds."""

import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager


class Broken(Exception):
    """A step failed on which all later ones stand."""


class Report:
    """Counts the steps and prints them as they end."""

    def __init__(self, name: str = "drill") -> None:
        self._name = name
        self.held = self.failed = 0
        self._began = time.monotonic()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """`name` is said to hold when the block ends without an error; else all ends. Raises Broken."""
        try:
            yield
        except Exception as error:
            self.failed += 1
            self._say(f"FAILED {name}: {type(error).__name__}: {error}")
            traceback.print_exc(file=sys.stderr)
            raise Broken(name) from error
        self.held += 1
        self._say(f"held   {name}")

    def end(self) -> int:
        """The last line is printed; the exit status."""
        print(f"{self._name}: {self.held} held, {self.failed} failed", flush=True)
        return 1 if self.failed or not self.held else 0

    def _say(self, line: str) -> None:
        print(f"[{time.monotonic() - self._began:6.1f} s] {line}", flush=True)
