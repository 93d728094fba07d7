"""A simulated fleet beside the caller's own code, in a thread with an event loop of its own."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from inventory.simulator.control import Control
from inventory.simulator.fleet import SimulatedFleet

# Opening 1,200 ports takes a second or two on a loaded machine.
START_TIMEOUT_S = 60


@contextmanager
def in_background(fleet: SimulatedFleet) -> Iterator[Control]:
    """The fleet runs until the block ends; its remote control. Raises what starting it raises."""
    ready: Future[Callable[[], object]] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(fleet, ready)), name="simulated fleet", daemon=True)
    thread.start()
    end = ready.result(START_TIMEOUT_S)
    try:
        yield Control(port=fleet.desk.port, token=fleet.desk.token)
    finally:
        end()
        thread.join()


async def _serve(fleet: SimulatedFleet, ready: Future[Callable[[], object]]) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    try:
        await fleet.start()
    except Exception as error:
        # It belongs to the thread that waits for the fleet.
        ready.set_exception(error)
        return
    ready.set_result(lambda: loop.call_soon_threadsafe(ended.set))
    await ended.wait()
    await fleet.stop()
