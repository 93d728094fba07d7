"""One round over all cards: a child that hangs or dies at one of them costs that one, not the others."""

import asyncio
import time
from typing import Any

from inventory.node_agent.probe.keeper import Keeper
from inventory.node_agent.probe.known import Known
from inventory.node_agent.probe.owners import Owners
from inventory.node_agent.probe.pipe import Child, Gone, Overdue
from inventory.node_agent.probe.settings import ProbeSettings
from inventory.node_agent.probe.suspects import Suspects
from inventory.node_agent.probe.xids import Xids

# Each pass but the last ends with one more card suspected; 16 cards, each may die once before it counts.
PASSES_MOST = 40
# Hanging or dying at no card in particular: once is chance, and more in one round would take too long.
BLAMELESS_MOST = 2


class Round:
    """`count`: what the driver counts, None while nobody knows. `against`: faults of the node found on the way."""

    def __init__(
        self, settings: ProbeSettings, keeper: Keeper, known: Known, suspects: Suspects, owners: Owners, xids: Xids
    ) -> None:
        self._settings = settings
        self._keeper = keeper
        self._known = known
        self._suspects = suspects
        self._owners = owners
        self._xids = xids
        self._at: int | None = None
        self._done: set[int] = set()
        self._given_up: set[int] = set()
        self._read: set[str] = set()
        self._unreadable: dict[int, dict[str, Any]] = {}
        self.count: int | None = None
        self.against: list[tuple[str, str]] = []

    async def run(self, *, everything: bool, foreign: bool) -> bool:
        """Every card was asked that is to be asked; False if the child could not be brought so far."""
        blameless = 0
        for _ in range(PASSES_MOST):
            child = await self._keeper.work()
            if child is None:
                return False
            try:
                await self._ask(child, everything=everything, foreign=foreign)
            except (Overdue, Gone) as end:
                await self._keeper.drop(kindly=False)
                blameless += self._at is None
                self._blame(end)
                if blameless >= BLAMELESS_MOST:
                    self.against.append(("probe_died", self._last_word(end)))
                    return False
            else:
                self._finish()
                return True
        return False

    async def _ask(self, child: Child, *, everything: bool, foreign: bool) -> None:
        clock = asyncio.get_running_loop().time
        self._at = None
        skip = self._done | self._left_out()
        await child.tell({"skip": sorted(skip), "last": self._suspects.indices(), "everything": everything})
        deadline_s = clock() + self._settings.card_deadline_s
        while (said := await child.hear(deadline_s))["say"] != "polled":
            if said["say"] == "unit":
                await self._unit(said, foreign=foreign)
            elif said["say"] == "unreadable":
                self._unreadable[said["index"]] = said
            elif said["say"] == "xid":
                self._xids.add(said["uuid"], said["xid"], said["at_s"])
            else:
                # Only a step of the child sets the clock back, never one line more of the same card.
                deadline_s = clock() + self._settings.card_deadline_s
                self._step(said)
        self.count = said["count"]
        if self.count is None:
            self.against.append(("nvml_unknown", f"nvmlDeviceGetCount answered {said['reason']}"))

    def _step(self, said: dict[str, Any]) -> None:
        self._at = said["index"] if said["say"] == "card" else None
        if said["say"] == "read":
            self._done.add(said["index"])
            self._suspects.answered(said["index"])

    async def _unit(self, said: dict[str, Any], *, foreign: bool) -> None:
        row = self._known.unit(said)
        self._read.add(row.uuid)
        self._unreadable.pop(row.index, None)
        if listed := said.get("processes"):
            row.listed_s = listed["at_s"]
            if foreign or listed["pids"] is None:
                row.processes = None
            else:
                row.processes = await asyncio.to_thread(self._owners.of, dict(listed["pids"]))

    def _blame(self, end: Exception) -> None:
        """The card at which it happened is suspected, and not asked again in this round if it is to blame."""
        if self._at is None:
            return
        if isinstance(end, Overdue):
            self._suspects.hung(self._at, time.monotonic())
        else:
            self._suspects.died(self._at, str(end), time.monotonic())
        if self._at in self._suspects.all():
            self._given_up.add(self._at)

    def _last_word(self, end: Exception) -> str:
        return f"no answer within {self._settings.card_deadline_s:g} s" if isinstance(end, Overdue) else str(end)

    def _left_out(self) -> set[int]:
        return self._given_up | self._suspects.waiting(time.monotonic())

    def _finish(self) -> None:
        """Cards that could not be opened are told, and units that are no more are dropped."""
        if self.count is None:
            return
        for index, said in self._unreadable.items():
            if not self._known.fail(said):
                place = f"card {index}" + (f" ({said['bus']})" if said["bus"] else "")
                self.against.append(("card_unreadable", f"{place}: {said['call']} answered {said['reason']}"))
        self._known.keep(self._read, self._left_out() | self._unreadable.keys())
        self._owners.forget_all_but(self._known.pids())
