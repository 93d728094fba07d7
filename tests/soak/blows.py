"""What is killed, when, and for how long, drawn from one seed; and what that says about which agent was silent when."""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from inventory.simulator import Control
from tests.drill.processes import Portal
from tests.soak.watching import children

# Of 100 blows. A part that has just been killed is not there to be killed: such a blow goes by.
CHANCES = {"agents": 50, "hung": 20, "slot": 12, "worker": 8, "broker": 5, "database": 5}
PARTS = {"worker": "worker", "broker": "valkey", "database": "postgres"}
# A reboot takes minutes, but a short soak has to see agents come back, too.
AWAY_S = (10.0, 90.0)
# Four blows a minute leave the portal time to come back, and to be hit while it does.
PAUSE_S = (5.0, 25.0)
HIT_AT_ONCE = 0.005  # of the fleet


class Silence(NamedTuple):
    """From when until when an agent certainly answered nobody, by this machine's Unix time."""

    node: str
    from_s: float
    until_s: float


class Blows:
    """Hits one portal and its simulated agents until it is told to end."""

    def __init__(self, portal: Portal, simulator: Path, nodes: list[str], *, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self.silences: list[Silence] = []
        self._portal, self._control, self._nodes = portal, Control.of(simulator), nodes
        self._chance = random.Random(seed)
        self._away: dict[str, tuple[float, float]] = {}  # node -> silent since, comes back at

    def strike(self, *, until_s: float, look: Callable[[], None]) -> None:
        """Blows fall until `until_s` (monotonic); `look` is called about once a second."""
        next_s = time.monotonic()
        while time.monotonic() < until_s:
            self._bring_back(time.time())
            if time.monotonic() >= next_s:
                self._blow(self._chance.choices([*CHANCES], [*CHANCES.values()])[0])
                next_s = time.monotonic() + self._chance.uniform(*PAUSE_S)
            look()
            time.sleep(1)

    def end(self) -> None:
        """Every agent answers again."""
        self._bring_back(float("inf"))

    def _blow(self, what: str) -> None:
        if what in ("agents", "hung"):
            there = [name for name in self._nodes if name not in self._away]
            for name in self._chance.sample(there, min(len(there), max(1, int(len(self._nodes) * HIT_AT_ONCE)))):
                (self._control.kill if what == "agents" else self._control.hang)(name)
                now = time.time()
                self._away[name] = (now, now + self._chance.uniform(*AWAY_S))
                self.counts[what] += 1
        elif what == "slot":
            slots = children(self._portal.pid("worker"))
            with contextlib.suppress(ProcessLookupError, IndexError):
                os.kill(self._chance.choice(slots), signal.SIGKILL)
                self.counts[what] += 1
        elif self._portal.pid(PARTS[what]) is not None:
            self._portal.kill(PARTS[what])
            self.counts[what] += 1

    def _bring_back(self, now_s: float) -> None:
        for name, (since_s, back_s) in list(self._away.items()):
            if back_s <= now_s:
                until_s = time.time()
                self._control.revive(name)
                self.silences.append(Silence(name, since_s, until_s))
                del self._away[name]
