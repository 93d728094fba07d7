"""A real Celery worker on the test database and broker, to be killed at any moment."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.db import connection

from portal.celery import app

TICK_S = 0.2  # the test is the timer: hints this often
START_LIMIT_S = 60.0  # a loaded machine; takes 3 s


class Worker:
    """One worker process with its child; nothing outlives `kill`."""

    def __init__(self, log: Path) -> None:
        self._log = log.open("ab")
        environment = {
            **os.environ,
            "DATABASE_URL": _test_database_url(),
            "REDIS_URL": settings.REDIS_URL,
            "DJANGO_SETTINGS_MODULE": "portal.settings",
        }
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "celery", "-A", "portal", "worker"),
                *("--queues", "apply,poll,default", "--concurrency", "1", "--without-mingle", "--without-gossip"),
            ],
            cwd=settings.BASE_DIR,
            env=environment,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )

    def kill(self) -> None:
        """SIGKILL to the worker and its child, as when the machine dies."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._log.close()


@contextmanager
def worker(log: Path) -> Iterator[Worker]:
    """A worker runs until it is killed, at the latest when the block ends."""
    running = Worker(log)
    try:
        yield running
    finally:
        running.kill()


def until(condition: Callable[[], bool], *, limit_s: float = START_LIMIT_S, tick: Callable[[], None]) -> None:
    """The condition holds; until then `tick` is called again and again. Fails after `limit_s`."""
    ends_at_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < ends_at_s, "it did not come to that in time"
        tick()
        time.sleep(TICK_S)


def hint(*tasks: str) -> None:
    """The timer has ticked for these tasks; a hint that nobody takes is void at the next tick."""
    for task in tasks:
        app.send_task(task, expires=TICK_S * 5)


def flush_broker() -> None:
    """Everything that the broker knew is lost."""
    with app.connection_for_write() as broker:
        broker.default_channel.client.flushall()


def _test_database_url() -> str:
    return urlsplit(os.environ["DATABASE_URL"])._replace(path="/" + quote(connection.settings_dict["NAME"])).geturl()
