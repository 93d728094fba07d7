"""A simulated fleet beside the caller's own code, in a thread with an event loop of its own."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from inventory.simulator.control import Control
from inventory.simulator.fleet import SimulatedFleet

# Opening 1,200 ports takes a second or two on a loaded machine.
START_TIMEOUT_S = 60


@contextmanager
def in_background(fleet: SimulatedFleet) -> Iterator[Control]:
    """The fleet runs until the block ends; its remote control."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="simulated fleet", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(fleet.start(), loop).result(START_TIMEOUT_S)
        try:
            yield Control(port=fleet.desk.port, token=fleet.desk.token)
        finally:
            asyncio.run_coroutine_threadsafe(fleet.stop(), loop).result(START_TIMEOUT_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
