"""What changed, said to every open page: one connection of this process hears the database's hints and fans them out.

A hint is a topic ("move", "survey", the noun of an event), never data; a page that hears one asks again.
"""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from weakref import WeakKeyDictionary

import psycopg
import structlog
from django.db import connections

CHANNEL = "allot"
EVERYTHING = "*"  # hints may have been lost: ask for all parts again
MOST_TOPICS = 40  # that wait for one client; a slower one is told EVERYTHING instead
LOOK_UP_S = 20.0  # how long the ear listens before it looks whether anybody is still there
CONNECT_TIMEOUT_S = 5
RETRY_S = 2.0  # a restarted database is back after about this long

log = structlog.get_logger(__name__)


class Listener:
    """What one client has not been told yet; never grows past MOST_TOPICS."""

    def __init__(self) -> None:
        self._topics: set[str] = set()
        self._news = asyncio.Event()
        self.is_over = False

    def tell(self, topic: str) -> None:
        """The client is told `topic` with the next answer of `changes`."""
        self._topics = {EVERYTHING} if len(self._topics) >= MOST_TOPICS else self._topics | {topic}
        self._news.set()

    def end(self) -> None:
        """The stream of this client ends now."""
        self.is_over = True
        self._news.set()

    async def changes(self, *, patience_s: float, gather_s: float) -> set[str]:
        """The topics that changed since the last call, gathered for `gather_s`; none after `patience_s` of silence."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), patience_s)
        if self._news.is_set() and not self.is_over:
            await asyncio.sleep(gather_s)
        topics, self._topics = self._topics, set()
        if not self.is_over:
            self._news.clear()
        return topics


class Ear:
    """The one listening connection of an event loop, held while somebody listens."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._hears = asyncio.Event()

    @contextmanager
    def listening(self) -> Iterator[Listener]:
        """A listener for as long as the block runs."""
        listener = Listener()
        self._listeners.add(listener)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._listen())
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    async def ready(self, patience_s: float) -> bool:
        """Whether the database is heard, waiting at most so long for it."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hears.wait(), patience_s)
        return self._hears.is_set()

    def end(self) -> None:
        """All streams end now: the server stops."""
        for listener in self._listeners:
            listener.end()
        if self._task is not None:
            self._task.cancel()

    async def _listen(self) -> None:
        while self._listeners:
            try:
                await self._listen_once()
            except (psycopg.Error, OSError) as lost:
                log.warning("live.lost", error=str(lost))
                await asyncio.sleep(RETRY_S)
            finally:
                self._hears.clear()

    async def _listen_once(self) -> None:
        async with await psycopg.AsyncConnection.connect(**_where(), autocommit=True) as connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            self._hears.set()
            self._tell(EVERYTHING)  # whatever happened while nobody listened
            while self._listeners:
                async for hint in connection.notifies(timeout=LOOK_UP_S):
                    self._tell(hint.payload)

    def _tell(self, topic: str) -> None:
        for listener in self._listeners:
            listener.tell(topic)


_ears: WeakKeyDictionary[asyncio.AbstractEventLoop, Ear] = WeakKeyDictionary()


def ear() -> Ear:
    """The ear of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _ears:
        _ears[loop] = Ear()
        _end_streams_on_stop(loop, _ears[loop])
    return _ears[loop]


def _where() -> dict[str, object]:
    """How to connect to the database that Django uses."""
    known = connections["default"].get_connection_params()
    return {
        "connect_timeout": CONNECT_TIMEOUT_S,
        **{key: known[key] for key in ("host", "port", "dbname", "user", "password", "sslmode") if known.get(key)},
    }


def _end_streams_on_stop(loop: asyncio.AbstractEventLoop, of: Ear) -> None:
    """A stop signal ends the streams before the server's own handler runs: uvicorn waits for open answers otherwise."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        servers_own = signal.getsignal(number)
        if not callable(servers_own) or servers_own is signal.default_int_handler:
            continue

        def stop(signum: int, frame: FrameType | None, then=servers_own) -> None:
            loop.call_soon_threadsafe(of.end)
            then(signum, frame)

        signal.signal(number, stop)
