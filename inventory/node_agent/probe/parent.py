"""The probe as the agent has it: what the node's GPUs do, never waiting for the driver."""

import asyncio
import logging
import random
from contextlib import suppress

from inventory.node_agent.probe.bus import cards_on_bus
from inventory.node_agent.probe.keeper import Keeper
from inventory.node_agent.probe.known import Known
from inventory.node_agent.probe.logins import Logins
from inventory.node_agent.probe.owners import Owners, foreign_pids
from inventory.node_agent.probe.round import Round
from inventory.node_agent.probe.settings import ProbeSettings
from inventory.node_agent.probe.suspects import Suspects
from inventory.node_agent.probe.xids import Xids
from inventory.node_agent.seen import NodeSeen

log = logging.getLogger(__name__)


class Probe:
    """Polls by a child that may hang or die at any moment. `start` once, `close` once, on one event loop."""

    def __init__(self, settings: ProbeSettings | None = None) -> None:
        self._settings = settings or ProbeSettings()
        self._xids = Xids(self._settings.seen_errors, self._settings.xid_kept_s)
        self._known = Known(self._xids, self._settings.proc)
        self._owners = Owners(self._settings.proc, Logins())
        self._suspects = Suspects(self._settings)
        self._keeper = Keeper(self._settings)
        self._count: int | None = None
        self._renewed_for: tuple[int | None, int | None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        self._begun = self._ended = 0
        self._after_round = asyncio.Condition()

    async def start(self) -> None:
        """Polls go on from now, the first at once. Nothing is waited for."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Nothing of it runs any more, but for a child that not even SIGKILL ends."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._keeper.drop(kindly=True)

    def seen(self) -> NodeSeen:
        """The newest of everything, with ages as of now. Never waits."""
        return self._known.seen()

    async def look(self) -> NodeSeen:
        """What is seen by a round that begins after this call and leaves nothing out: process lists, MIG, health.

        Takes as long as a round does: seconds where a card hangs.
        """
        wanted = self._begun + 1
        self._wanted.set()
        async with self._after_round:
            await self._after_round.wait_for(lambda: self._ended >= wanted)
        return self.seen()

    @property
    def child_pid(self) -> int | None:
        """The process that has NVML loaded."""
        return self._keeper.child.pid if self._keeper.child else None

    async def _run(self) -> None:
        # Agents of a fleet that start together must not poll together.
        pause_s = random.uniform(0.5, 1.0) * self._settings.poll_every_s  # noqa: S311 (no secret)
        while True:
            everything = self._wanted.is_set()
            self._wanted.clear()
            self._begun += 1
            try:
                await self._round(everything=everything)
            except Exception:
                # The values age, so nothing wrong is told; the next round has a new child.
                log.exception("a round of the probe failed")
                await self._keeper.drop(kindly=False)
            async with self._after_round:
                self._ended = self._begun
                self._after_round.notify_all()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._wanted.wait()
            pause_s = self._settings.poll_every_s

    async def _round(self, *, everything: bool) -> None:
        self._known.cards_on_bus = await asyncio.to_thread(cards_on_bus, self._settings.pci)
        foreign = foreign_pids(self._settings.proc)
        round_ = Round(self._settings, self._keeper, self._known, self._suspects, self._owners, self._xids)
        complete = await round_.run(everything=everything, foreign=bool(foreign))
        against = round_.against + ([("foreign_pids", foreign)] if foreign else [])
        if complete:
            self._known.driver = self._keeper.driver
            against += self._missing(round_.count)
            await self._renew(round_.count)
        elif self._keeper.refused:
            self._known.rows.clear()
        if self._keeper.against:
            against.append(self._keeper.against)
        against += [("probe_stuck", f"SIGKILL does not end {child.pid}") for child in self._keeper.unkillable()]
        self._known.settle(against, self._suspects.all())

    def _missing(self, count: int | None) -> list[tuple[str, str]]:
        """Cards that the bus shows and the driver does not."""
        on_bus = self._known.cards_on_bus
        if on_bus is None or count is None or count >= len(on_bus):
            return []
        without = sorted(set(on_bus) - {row.bus for row in self._known.rows.values()})
        return [("cards_missing", f"the driver shows {count} of {len(on_bus)} cards: {', '.join(without)}")]

    async def _renew(self, count: int | None) -> None:
        """The child is ended for a new one to start NVML afresh, where that may show more than this one does."""
        if self._count not in (None, count):
            self._suspects.clear()
        self._count = count
        age_s = asyncio.get_running_loop().time() - self._keeper.started_s
        on_bus = self._known.cards_on_bus
        shown = count, None if on_bus is None else len(on_bus)
        # Boards that are one with their processor stand on no bus.
        differs = bool(on_bus) and count != len(on_bus or ())
        failing = count is None or self._known.all_failing()
        if not (differs or failing):
            self._renewed_for = None
        limit_s = self._settings.start_again_most_s if failing else self._settings.renew_for_missing_s
        due = (differs or failing) and (shown != self._renewed_for or age_s >= limit_s)
        if due:
            self._renewed_for = shown
        if due or age_s >= self._settings.renew_every_s:
            await self._keeper.drop(kindly=True)
