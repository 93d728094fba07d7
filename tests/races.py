"""Several people at once: threads with connections of their own, held inside the window that a guard must close."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import wraps
from threading import Barrier, BrokenBarrierError

from django.db import connection

# Longer than any thread takes to come as far as the window on a busy machine. With the guard in place the second one
# never comes, so each test pays this once.
WAIT_S = 1.0
# The product refuses after 3 s; a test of who wins is about the order, not about the speed of this machine.
PATIENCE = "SET lock_timeout = '60s'"


class Window:
    """A place in the code where the first waits for the others: without a guard all stand in it together."""

    def __init__(self, parties: int = 2) -> None:
        self._barrier = Barrier(parties)
        self.met = False  # whether all stood in it together

    def enter(self) -> None:
        with suppress(BrokenBarrierError):  # the guard kept the others out: go on
            self._barrier.wait(WAIT_S)
            self.met = True

    def before(self, function: Callable) -> Callable:
        """`function`, entered through the window."""

        @wraps(function)
        def held(*args, **kwargs):
            self.enter()
            return function(*args, **kwargs)

        return held

    def after(self, function: Callable) -> Callable:
        """`function`, left through the window."""

        @wraps(function)
        def held(*args, **kwargs):
            result = function(*args, **kwargs)
            self.enter()
            return result

        return held


def at_once(*calls: Callable) -> list:
    """What each call returned or raised, in their order; all begin at the same time."""
    start = Barrier(len(calls))

    def run(call: Callable):
        try:
            with connection.cursor() as cursor:
                cursor.execute(PATIENCE)
            start.wait(60)
            return call()
        except Exception as outcome:
            return outcome
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def kinds(outcomes: list) -> list[str]:
    """The class of each outcome, sorted."""
    return sorted(type(outcome).__name__ for outcome in outcomes)
