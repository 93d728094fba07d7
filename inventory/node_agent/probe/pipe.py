"""The parent's end of the child: started, asked, listened to with a deadline, ended for certain."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from inventory.node_agent.probe.settings import ProbeSettings

# A line a unit; 4096 processes of a card take some 100 kB.
LINE_MOST = 4 * 1024 * 1024
# The folder, or the zip file, that holds the agent.
ROOT = Path(__file__).parents[3]
LAST_WORDS = 5
GRACE_S = 0.25


class Overdue(Exception):
    """The child did not speak in time: it hangs in the driver, or is stopped."""


class Gone(Exception):
    """The child has ended without being told; the text is its last word."""


class Child:
    """One process of the probe."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self._listening = asyncio.create_task(self._keep_last_words())

    @classmethod
    async def start(cls, settings: ProbeSettings) -> "Child":
        """It runs. Raises OSError where no process can be started."""
        path = os.pathsep.join(filter(None, (str(ROOT), settings.environment.get("PYTHONPATH"))))
        environment = os.environ | settings.environment | {"PYTHONPATH": path, "PYTHONUTF8": "1"}
        process = await asyncio.create_subprocess_exec(
            *settings.command,
            str(settings.pci),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=LINE_MOST,
            env=environment,
            # Ctrl-C is for the parent.
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        """For those who look at it from outside."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the kernel still has it."""
        return self._process.returncode is None

    async def tell(self, order: dict[str, Any]) -> None:
        """The order is on its way. Raises Gone."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            await self._process.stdin.drain()
        except OSError as error:
            raise Gone(await self._last_word()) from error

    async def hear(self, deadline_s: float) -> dict[str, Any]:
        """The next line. `deadline_s`: on the loop's clock. Raises Overdue, Gone."""
        try:
            said = json.loads(await self._line(deadline_s))
        except ValueError as error:
            # No line, half a line, or one without end.
            raise Gone(await self._last_word()) from error
        assert isinstance(said, dict)
        return said

    async def end(self, within_s: float, *, kindly: bool) -> bool:
        """It is gone, by itself within that time if `kindly`, else by SIGKILL; False if not even that ends it."""
        try:
            if kindly and self._process.stdin is not None:
                self._process.stdin.close()
                await self._wait(within_s)
        finally:
            # Whoever waits may be told to stop: the child is ended all the same.
            if self.running:
                self.kill()
        await self._wait(within_s)
        return not self.running

    def kill(self) -> None:
        """SIGKILL is sent: nothing less ends a call in the driver, and in D state not even that does."""
        try:
            self._process.kill()
        except ProcessLookupError:
            return

    async def _line(self, deadline_s: float) -> bytes:
        assert self._process.stdout is not None
        clock = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout_at(deadline_s):
                return await self._process.stdout.readline()
        except TimeoutError:
            # A parent that could not run itself for so long finds the answer waiting.
            with suppress(TimeoutError):
                async with asyncio.timeout_at(clock() + GRACE_S):
                    return await self._process.stdout.readline()
        raise Overdue

    async def _wait(self, within_s: float) -> None:
        try:
            async with asyncio.timeout(within_s):
                await self._process.wait()
                await self._listening
        except TimeoutError:
            return

    async def _keep_last_words(self) -> None:
        assert self._process.stderr is not None
        try:
            async for line in self._process.stderr:
                self._last_words.append(line.decode(errors="replace").strip())
        except ValueError:
            return

    async def _last_word(self) -> str:
        await self._wait(1.0)
        words = "".join(sign for sign in (self._last_words or [""])[-1] if sign.isprintable())
        ended = "it closed its pipe" if self.running else f"it ended with {self._process.returncode}"
        return f"{ended}: {words}"[:200] if words else ended
