"""Nodes spoken to from code that is not asynchronous: one background loop a process, so that connections live on.

A Celery child polls in short tasks. A loop of its own for each task would open every connection anew each time.
"""

import asyncio
import atexit
import os
import resource
import threading
from asyncio import sslproto
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from inventory.drivers.base import Applied, NodeAddress, Observed, Settings, UnitOrder
from inventory.drivers.fleet import CONCURRENCY, Fleet
from inventory.errors import InventoryError

# Closing connections is local work; more than this means that the loop is stuck, and the process ends anyway.
STOP_TIMEOUT_S = 5
# asyncio sets aside 256 KiB a TLS connection, 300 MiB for 1,200 nodes that each say 5 KB; a TLS record has 16 KiB.
TLS_BUFFER_BYTES = 32 * 1024

Answer = TypeVar("Answer")


class _Background:
    """A thread that runs an event loop with a fleet in it."""

    def __init__(self) -> None:
        sslproto.SSLProtocol.max_size = TLS_BUFFER_BYTES
        _allow_open_files()
        self.loop = asyncio.new_event_loop()
        self.fleet = Fleet()
        # A daemon: a process whose main thread is done must not be held by it.
        self._thread = threading.Thread(target=self.loop.run_forever, name="drivers", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[Fleet], Coroutine[Any, Any, Answer]]) -> Answer:
        future = asyncio.run_coroutine_threadsafe(work(self.fleet), self.loop)
        try:
            return future.result()
        except BaseException:
            # A soft time limit that interrupts the wait stops the work too.
            future.cancel()
            raise

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(_wind_up(self.fleet), self.loop).result(STOP_TIMEOUT_S)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(STOP_TIMEOUT_S)
        self.loop.close()


def _allow_open_files() -> None:
    """As many as the system lets this process have: a connection a node is kept, and Linux begins with 1,024."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def _wind_up(fleet: Fleet) -> None:
    unfinished = asyncio.all_tasks() - {asyncio.current_task()}
    for task in unfinished:
        task.cancel()
    await asyncio.gather(*unfinished, return_exceptions=True)
    await fleet.close()


_lock = threading.Lock()
_background: _Background | None = None


def _after_fork() -> None:
    """A child starts with nothing: the parent's thread does not exist there, and its lock might be held for ever."""
    global _lock, _background
    _lock = threading.Lock()
    _background = None


os.register_at_fork(after_in_child=_after_fork)


def run(work: Callable[[Fleet], Coroutine[Any, Any, Answer]]) -> Answer:
    """What `work(fleet)` returns, run on this process's background loop. May be called from several threads at once."""
    global _background
    with _lock:
        if _background is None:
            _background = _Background()
        background = _background
    return background.run(work)


def observe_many(
    nodes: Sequence[NodeAddress], *, concurrency: int = CONCURRENCY
) -> list[tuple[str, Observed | InventoryError]]:
    """What each node sees, or why that is not known: (node name, answer) in the order of `nodes`."""
    return run(lambda fleet: fleet.observe_many(nodes, concurrency=concurrency))


def ensure_many(orders: Sequence[UnitOrder], *, concurrency: int = CONCURRENCY) -> list[Applied | InventoryError]:
    """Each order told to its node; what the node answered, or why not, in the order of `orders`."""
    return run(lambda fleet: fleet.ensure_many(orders, concurrency=concurrency))


def settings_many(
    told: Sequence[tuple[NodeAddress, Settings]], *, concurrency: int = CONCURRENCY
) -> list[InventoryError | None]:
    """Each node told how it is to work; None where it does so now, or why not, in the order of `told`."""
    return run(lambda fleet: fleet.settings_many(told, concurrency=concurrency))


@atexit.register
def close() -> None:
    """The background loop has ended and its connections are closed; the next call starts a new one."""
    global _background
    with _lock:
        background, _background = _background, None
    if background is not None:
        background.stop()
