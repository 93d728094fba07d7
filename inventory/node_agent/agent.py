"""The agent itself: what it sees, what it is told, and the pass that it repeats; no HTTP in here."""

import asyncio
import logging
import platform
import time
from contextlib import suppress
from dataclasses import replace

from inventory.node_agent.enforce import Enforcer, Refused
from inventory.node_agent.identity import Identity, new_boot_id
from inventory.node_agent.probe import Probe
from inventory.node_agent.protocol import Applied, Fault, GpuSeen, Health, Mode, Observation, Order, Settings
from inventory.node_agent.protocol.fields import LONGEST_TEXT
from inventory.node_agent.seen import NodeSeen
from inventory.node_agent.tokens import Tokens
from inventory.node_agent.version import VERSION

# Devices that somebody changed, and processes that have ended, are found within that time.
RECONCILE_EVERY_S = 5.0
# What enforcement lacks is looked up that often while it is being prepared; groups may stand in a directory.
DOCTOR_EVERY_S = 300.0
# The portal waits 5 s for an answer; a first look at eight healthy cards takes one.
FIRST_LOOK_S = 3.5

log = logging.getLogger(__name__)


class Agent:
    """One node's agent on one event loop: `start` once, `close` once. A part that fails is a fault, not the end."""

    def __init__(self, identity: Identity, tokens: Tokens, probe: Probe, enforcer: Enforcer) -> None:
        self._identity, self._tokens = identity, tokens
        self._probe, self._enforcer = probe, enforcer
        self._boot_id = new_boot_id()
        self._sequence = 0
        self._failing: dict[str, Fault] = {}
        self._lacking: tuple[Fault, ...] = ()
        self._doctor_at_s = 0.0
        self._looked = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """The probe polls and the pass repeats itself. Nothing is waited for."""
        await self._probe.start()
        self._tasks = [asyncio.create_task(self._look_first()), asyncio.create_task(self._repeat())]

    async def close(self) -> None:
        """Nothing is repeated any more, and the probe's child is gone. Devices stay as they are."""
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await self._probe.close()

    def accepts(self, header: str) -> bool:
        """Whether an `Authorization` header is the portal's."""
        try:
            return self._tokens.accept(header)
        except OSError:
            # The disk is full: the token is right, and the old one stays good as well.
            log.exception("a new token cannot be kept")
            return True

    async def observe(self) -> Observation:
        """All that is seen now. Raises Refused (`not_ready`) while nothing has been looked at yet."""
        if not self._looked.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._looked.wait(), FIRST_LOOK_S)
        if not self._looked.is_set():
            # Not an empty list: the portal would take the cards for lost.
            raise Refused("not_ready", "the agent has just started and waits for the driver")
        seen = self._seen()
        gpus = self._owned(seen)
        own = [fault for fault in self._failing.values() if fault not in seen.faults]
        self._sequence += 1
        return Observation(
            self._identity.node,
            self._boot_id,
            self._sequence,
            gpus,
            self._enforcer.mode,
            VERSION,
            seen.driver,
            seen.cards_on_bus,
            (*seen.faults, *self._enforcer.faults, *self._lacking, *own),
        )

    async def ensure(self, uuid: str, order: Order) -> Applied:
        """The order is kept and acted on. Raises Refused."""
        seen = self._seen()
        # Devices and directories are asked, and disks waited for; answers to the portal must not wait with them.
        return await asyncio.to_thread(self._enforcer.ensure, uuid, order, seen)

    async def settle(self, settings: Settings) -> Mode:
        """The agent works as `settings` say, and has kept that; the mode that it is in. Raises Refused.

        The token first: a mode that cannot be had is no reason to go on with an old secret.
        """
        if settings.token:
            try:
                self._tokens.expect(settings.token)
            except OSError as error:
                raise Refused("not_ready", f"the token cannot be kept: {error.strerror}") from error
        seen = self._seen()
        await asyncio.to_thread(self._enforcer.set_mode, settings.mode, seen)
        return self._enforcer.mode

    def health(self) -> Health:
        """Which boot this is and what runs here."""
        versions = {"agent": VERSION, "python": platform.python_version(), "driver": self._seen().driver or "unknown"}
        return Health(self._identity.node, self._boot_id, versions)

    def _seen(self) -> NodeSeen:
        try:
            seen = self._probe.seen()
        except Exception as error:
            return NodeSeen((), faults=(self._fail("probe_failed", error),))
        self._failing.pop("probe_failed", None)
        return seen

    def _owned(self, seen: NodeSeen) -> tuple[GpuSeen, ...]:
        """The probe's GPUs with whose they are; with nobody known to hold them where that cannot be said."""
        try:
            gpus = self._enforcer.look(seen)
        except Exception as error:
            self._fail("look_failed", error)
            return tuple(replace(gpu, holder=None, open_to=None) for gpu in seen.gpus)
        self._failing.pop("look_failed", None)
        return gpus

    async def _look_first(self) -> None:
        try:
            await self._probe.look()
        except Exception as error:
            self._fail("probe_failed", error)
        self._looked.set()

    async def _repeat(self) -> None:
        while True:
            seen = self._seen()
            try:
                await asyncio.to_thread(self._enforcer.reconcile, seen)
                await self._see_what_is_lacking(seen)
            except Exception as error:
                self._fail("pass_failed", error)
            else:
                self._failing.pop("pass_failed", None)
            await asyncio.sleep(RECONCILE_EVERY_S)

    async def _see_what_is_lacking(self, seen: NodeSeen) -> None:
        """In shadow mode the node says what enforcement would need; in the others nobody asks."""
        now_s = asyncio.get_running_loop().time()
        if self._enforcer.mode != "shadow":
            self._lacking, self._doctor_at_s = (), now_s
        elif self._looked.is_set() and now_s >= self._doctor_at_s:
            failed = [check for check in await asyncio.to_thread(self._enforcer.findings, seen) if not check.passed]
            since_s = self._lacking[0].since_s if self._lacking else time.time()
            detail = _printable("; ".join(f"{check.name}: {check.found}" for check in failed))
            self._lacking = (Fault("not_ready_to_enforce", detail, since_s),) if failed else ()
            self._doctor_at_s = now_s + DOCTOR_EVERY_S

    def _fail(self, code: str, error: Exception) -> Fault:
        if code not in self._failing:
            log.error(code, exc_info=error)
        since_s = self._failing[code].since_s if code in self._failing else time.time()
        self._failing[code] = Fault(code, _printable(f"{type(error).__name__}: {error}"), since_s)
        return self._failing[code]


def _printable(words: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in words)[:LONGEST_TEXT]
