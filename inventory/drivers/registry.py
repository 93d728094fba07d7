"""Which driver stands behind the name in a node's row."""

from collections.abc import Callable

from inventory.drivers.agent import AgentDriver
from inventory.drivers.base import Driver
from inventory.drivers.dcgm import DcgmDriver

# Name -> makes the driver inside the running event loop.
DRIVERS: dict[str, Callable[[], Driver]] = {"agent": AgentDriver, "dcgm": DcgmDriver}
