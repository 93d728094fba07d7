"""The one process that loads NVML: killed and replaced when the driver hangs, so that nothing else ever does.

Started by `Probe`. Reads a line of orders for each poll, `{"skip": [index], "last": [index], "everything": bool}`;
answers with one JSON line a unit as it is read. Each card is announced before it is touched: who waits knows where it
hangs.
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from inventory.node_agent.probe.loading import nvml
from inventory.node_agent.probe.reader import Reader

PR_SET_PDEATHSIG = 1


def _orders(lines: TextIO) -> Iterator[dict[str, Any]]:
    for line in lines:
        yield json.loads(line)


def main() -> None:
    """Serves polls until the parent goes."""
    # A parent that is killed cannot close the pipe of a child that hangs.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # Whatever a library prints must not stand between our lines.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    reader = Reader(out, Path(sys.argv[1]))
    if not reader.begin():
        return
    for order in _orders(sys.stdin):
        reader.poll(set(order["skip"]), order["last"], everything=order["everything"])
    nvml.nvmlShutdown()


if __name__ == "__main__":
    main()
