"""Commands that die with the one who started them, so that a killed supervisor leaves nothing running.

The kernel watches the *thread* that forked: start children from one that lives as long as they should, the main one.
"""

import ctypes
import os
import shutil
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1  # prctl(2), linux/prctl.h

# For machines without setpriv. A text, not a file: `nobody` may have no way into the checkout.
SHIM = (
    "import ctypes, os, sys\n"
    f"ctypes.CDLL(None).prctl({PR_SET_PDEATHSIG}, int(sys.argv[1]))\n"
    "os.execvp(sys.argv[2], sys.argv[2:])\n"
)


def tethered(command: Sequence[str], *, death_signal: signal.Signals) -> list[str]:
    """The command line that runs `command` in its own place and sends it `death_signal` when its starter dies.

    A change of user clears the bond, so it stands after any such step.
    """
    if setpriv := shutil.which("setpriv"):
        return [setpriv, "--pdeathsig", death_signal.name.removeprefix("SIG"), "--", *command]
    return [os.path.realpath(sys.executable), "-I", "-S", "-c", SHIM, str(int(death_signal)), *command]


def die_with_parent(death_signal: signal.Signals = signal.SIGKILL) -> None:
    """This very process gets `death_signal` when the thread that forked it ends; for forked pool children."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(death_signal))
