"""Many nodes asked or told at once, each for itself: one bad node is one error in the list."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from inventory.drivers import registry
from inventory.drivers.base import Applied, Driver, NodeAddress, Observed, Settings, UnitOrder
from inventory.errors import BadAnswer, InventoryError, UnknownDriver

# Enough that a dozen hung nodes do not hold up the rest, few enough that answers do not queue behind each other in one
# process and look like slow nodes: at about 0.6 ms of CPU an answer, 64 are parsed within 40 ms.
CONCURRENCY = 64

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")
log = logging.getLogger(__name__)


class Fleet:
    """The open drivers of one event loop. Keep it between polls: that keeps the connections too."""

    def __init__(self) -> None:
        self._open: dict[Callable[[], Driver], Driver] = {}

    async def observe_many(
        self, nodes: Sequence[NodeAddress], *, concurrency: int = CONCURRENCY
    ) -> list[tuple[str, Observed | InventoryError]]:
        """What each node sees, or why that is not known: (node name, answer) in the order of `nodes`."""

        async def observe(node: NodeAddress) -> Observed:
            return await self._driver(node).observe(node)

        answers = await _each(nodes, observe, lambda node: node.name, concurrency)
        return [(node.name, answer) for node, answer in zip(nodes, answers, strict=True)]

    async def ensure_many(
        self, orders: Sequence[UnitOrder], *, concurrency: int = CONCURRENCY
    ) -> list[Applied | InventoryError]:
        """Each order told to its node; what the node answered, or why not, in the order of `orders`."""

        async def ensure(unit: UnitOrder) -> Applied:
            return await self._driver(unit.node).ensure_unit(unit.node, unit.uuid, unit.order)

        return await _each(orders, ensure, lambda unit: unit.node.name, concurrency)

    async def settings_many(
        self, told: Sequence[tuple[NodeAddress, Settings]], *, concurrency: int = CONCURRENCY
    ) -> list[InventoryError | None]:
        """Each node told how it is to work; None where it does so now, or why not, in the order of `told`."""

        async def ensure(row: tuple[NodeAddress, Settings]) -> None:
            node, settings = row
            await self._driver(node).ensure_settings(node, settings)

        return await _each(told, ensure, lambda row: row[0].name, concurrency)

    async def close(self) -> None:
        """All connections of all drivers are closed."""
        while self._open:
            await self._open.popitem()[1].close()

    def _driver(self, node: NodeAddress) -> Driver:
        make = registry.DRIVERS.get(node.driver)
        if make is None:
            raise UnknownDriver(node.name, f"no driver is called {node.driver!r}")
        if make not in self._open:
            self._open[make] = make()
        return self._open[make]


async def _each(
    things: Sequence[Thing], ask: Callable[[Thing], Awaitable[Answer]], name: Callable[[Thing], str], concurrency: int
) -> list[Answer | InventoryError]:
    answers: dict[int, Answer | InventoryError] = {}
    waiting = iter(enumerate(things))

    async def one_after_the_other(waiting: Iterable[tuple[int, Thing]]) -> None:
        for index, thing in waiting:
            try:
                answers[index] = await ask(thing)
            except InventoryError as error:
                answers[index] = error
            except Exception as error:
                # A fault of ours that one node's answer brings out must not cost the answers of all others.
                log.exception("driver failed", extra={"node": name(thing)})
                answers[index] = BadAnswer(name(thing), f"driver failed: {type(error).__name__}")

    # All runners draw from one iterator: cheaper than a task a node, and the same bound.
    async with asyncio.TaskGroup() as group:
        for _ in range(min(concurrency, len(things))):
            group.create_task(one_after_the_other(waiting))
    return [answers[index] for index in range(len(things))]
