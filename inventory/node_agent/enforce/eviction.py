"""Ending the processes of a holder whose GPU was taken away, where the order carries the authority to."""

import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from inventory.node_agent.enforce.holders import Holder, look_at
from inventory.node_agent.enforce.layout import Step

# A process that is able to die does so within milliseconds of SIGKILL; freeing a large GPU memory takes seconds.
UNKILLABLE_AFTER_S = 15.0


class Evictions:
    """Which processes were told to end, and when; forgotten with the agent, so that a new one gives the grace anew."""

    def __init__(self, proc: Path, grace_s: float, on_step: Callable[[Step], None]) -> None:
        self._proc = proc
        self._grace_s = grace_s
        self._on_step = on_step
        # (pid, start) -> when SIGTERM was sent, and when SIGKILL was.
        self._told: dict[tuple[int, int], tuple[float, float | None]] = {}

    def press(self, holder: Holder, now_s: float) -> None:
        """The process has SIGTERM, or SIGKILL once its grace is over. `now_s`: of a clock that never goes back."""
        name = holder.pid, holder.started_ticks
        if name not in self._told:
            self._send(holder, signal.SIGTERM)
            self._told[name] = now_s, None
            self._on_step(Step.TERM_SENT)
        elif now_s - self._told[name][0] >= self._grace_s:
            self._send(holder, signal.SIGKILL)
            term_at, kill_at = self._told[name]
            self._told[name] = term_at, now_s if kill_at is None else kill_at
            self._on_step(Step.KILL_SENT)

    def is_unkillable(self, holder: Holder, now_s: float) -> bool:
        """Whether SIGKILL was sent long ago and the process is still there: it hangs in the kernel."""
        kill_at = self._told.get((holder.pid, holder.started_ticks), (0.0, None))[1]
        return kill_at is not None and now_s - kill_at >= UNKILLABLE_AFTER_S

    def forget_all_but(self, holders: Iterable[Holder]) -> None:
        """What is remembered is about `holders` only."""
        kept = {(holder.pid, holder.started_ticks) for holder in holders}
        self._told = {name: told for name, told in self._told.items() if name in kept}

    def _send(self, holder: Holder, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            opened = os.pidfd_open(holder.pid)
            try:
                # The number may be another process's by now. What the descriptor is bound to cannot change any more.
                now = look_at(self._proc, holder.pid)
                if now and (now.uid, now.started_ticks) == (holder.uid, holder.started_ticks):
                    signal.pidfd_send_signal(opened, number)
            finally:
                os.close(opened)
