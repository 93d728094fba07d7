"""Waiting that ends at once when a child ends or somebody asks to stop."""

import contextlib
import select
import signal
import socket
from collections.abc import Iterator
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping(Exception):
    """Somebody asked to stop."""


class Wakeups:
    """Signals as something one can wait for. For the main thread."""

    def __init__(self) -> None:
        self._stop_asked = False
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Inside, stop signals and ended children wake `wait`; handlers of our own, because a script that starts us
        with `&` leaves SIGINT ignored, and our children would inherit that."""
        numbers = (*STOP_SIGNALS, signal.SIGCHLD)
        before = {number: signal.signal(number, self._note) for number in numbers}
        wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, old in before.items():
                signal.signal(number, old)
            self._reader.close()
            self._writer.close()

    def wait(self, limit_s: float) -> None:
        """Returns after `limit_s`, or sooner when a signal came."""
        select.select([self._reader], [], [], max(0.0, limit_s))
        with contextlib.suppress(BlockingIOError):
            while self._reader.recv(4096):
                pass

    def check(self) -> None:
        """Raises Stopping once somebody asked to stop."""
        if self._stop_asked:
            raise Stopping

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGCHLD:
            self._stop_asked = True
