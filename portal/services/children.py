"""One child of the supervisor: started tethered and in a session of its own, ended with all it started."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from portal.services.claims import Claim
from portal.services.home import CHECKOUT, Home
from portal.services.logs import TROUBLE, ChildLog
from portal.services.tether import tethered

# A child that falls over at once must not eat a core; one that fell over after a quiet hour should be back at once.
BACK_OFF_FIRST_S = 0.5
BACK_OFF_LAST_S = 30.0
QUIET_S = 60.0
# What outlived a killed supervisor got its death signal long ago; it has had its time.
LEFTOVER_PATIENCE_S = 2.0
LEFTOVER_SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)  # to PostgreSQL: fast, at once, by force


@dataclass(frozen=True)
class ChildSpec:
    """What to run and how to end it."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)  # over the supervisor's own
    before: tuple[str, ...] = ()  # put before the tether: what changes the user does away with it
    uid: int | None = None  # None: the supervisor's own
    cwd: Path = CHECKOUT
    stop_signals: tuple[signal.Signals, ...] = (signal.SIGTERM,)  # from polite to firm; SIGKILL always follows
    death_signal: signal.Signals = signal.SIGTERM  # sent by the kernel when the supervisor dies
    ready: Callable[[], bool] | None = None  # None: ready once it runs
    trouble: re.Pattern[str] = TROUBLE  # the lines of its log that belong on the terminal
    about: str = ""  # for the terminal: what runs, and where
    then: Callable[[], None] | None = None  # called once a step ended well


class Child:
    """A running, ended or not yet started child."""

    def __init__(self, spec: ChildSpec, home: Home, claim: Claim | None = None) -> None:
        self.spec = spec
        self.claim = claim
        self.log = ChildLog(home.logs / f"{spec.name}.log", spec.trouble)
        self.deaths = 0
        self.due_at_s: float | None = None  # monotonic; when to start it again
        self._back_off_s = BACK_OFF_FIRST_S
        self._started_at_s = 0.0
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._popen.pid if self._popen else None

    def start(self, env: Mapping[str, str]) -> None:
        """It runs. Call from the main thread: the tether watches the thread that forks."""
        self.due_at_s = None
        self._started_at_s = time.monotonic()
        group = None if self.spec.uid is None else self.spec.uid
        with self.log.open() as output:
            self._popen = subprocess.Popen(
                [*self.spec.before, *tethered(self.spec.command, death_signal=self.spec.death_signal)],
                env={**env, **self.spec.env},
                cwd=self.spec.cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in a terminal reaches the supervisor alone, which keeps the order
                user=self.spec.uid,
                group=group,
                extra_groups=None if group is None else [],
            )
        if self.claim:
            self.claim.note(self._popen.pid)

    def ended(self) -> int | None:
        """Its exit status once it ended, None while it runs. What it left of its own children is killed then."""
        if self._popen is None:
            return 0
        if self._popen.returncode is None and _has_ended(self._popen.pid):
            # Before its number is given back: as long as it is not collected, the group's number is surely its own.
            self._signal_group(signal.SIGKILL)
            self._popen.wait()
        return self._popen.returncode

    def fell_over(self) -> str:
        """It is to be started again after the back-off; says in words when and why."""
        status = self.ended()
        self.deaths += 1
        if time.monotonic() - self._started_at_s > QUIET_S:
            self._back_off_s = BACK_OFF_FIRST_S
        again_in_s, self._back_off_s = self._back_off_s, min(self._back_off_s * 2, BACK_OFF_LAST_S)
        self.due_at_s = time.monotonic() + again_in_s
        self._popen = None
        why = f"ended with status {status}" if status is None or status >= 0 else f"was ended by signal {-status}"
        return f"{self.spec.name} {why}; starting it again in {again_in_s:g} s (see {self.log.path})"

    def tell(self, number: signal.Signals) -> None:
        """The child itself is told; it tells its own children in its own order."""
        if self._popen is not None and self.ended() is None:
            self._popen.send_signal(number)

    def kill(self) -> None:
        """It and all that it started are gone."""
        if self._popen is not None and self.ended() is None:
            self._signal_group(signal.SIGKILL)
            self._popen.wait()

    def _signal_group(self, number: signal.Signals) -> None:
        assert self._popen is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._popen.pid, number)


def end_leftover(claim: Claim) -> None:
    """Nothing of an earlier start runs this part any more. We must hold the claim."""
    for number in LEFTOVER_SIGNALS:
        deadline_s = time.monotonic() + LEFTOVER_PATIENCE_S
        if pid := claim.leftover():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)
        while claim.leftover() and time.monotonic() < deadline_s:
            time.sleep(0.05)


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
