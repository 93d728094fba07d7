"""Which processes the driver lists on a card."""

from typing import NamedTuple

from inventory.node_agent.probe.asking import Answer, Asking
from inventory.node_agent.protocol.gpus import IMPLAUSIBLE, MEMORY_MOST_MIB, PID_MOST

EVERY_S = 30.0
KINDS = ("Compute", "Graphics", "MPSCompute")
# A driver without such a list has no such processes; one that fails at it may have.
NO_SUCH_LIST = ("not_supported", "no_function")


class Listed(NamedTuple):
    """Pid -> MiB (None: not said), or None and the reason why nobody knows."""

    mem_mib_of: dict[int, int | None] | None
    reason: str | None
    at_s: float


def listed(asking: Asking, handle: object) -> Listed:
    """All processes of the three lists together: one pid may stand in two. One list unknown makes all unknown."""
    found: dict[int, int | None] = {}
    compute = Answer(None, "unknown", 0.0)
    for kind in KINDS:
        answer = _list(asking, handle, kind)
        compute = answer if kind == "Compute" else compute
        if answer.reason is not None:
            if kind != "Compute" and answer.reason in NO_SUCH_LIST:
                continue
            return Listed(None, answer.reason, answer.at_s)
        for pid, mem_mib in answer.value:
            found[pid] = max((mem for mem in (found.get(pid), mem_mib) if mem is not None), default=None)
    return Listed(found, None, compute.at_s)


def _list(asking: Asking, handle: object, kind: str) -> Answer:
    """One list by the newest call that the driver knows and answers plausibly."""
    answer = Answer(None, "no_function", 0.0)
    for version in ("_v3", "_v2"):
        answer = asking.ask(f"nvmlDeviceGet{kind}RunningProcesses{version}", handle)
        if answer.reason is None:
            rows = [(row.pid, _mib(row.usedGpuMemory)) for row in answer.value]
            # The first 535 drivers wrote longer records into v3: scrambled pids, right ones in v2.
            if all(0 < pid <= PID_MOST for pid, _ in rows):
                return answer._replace(value=rows)
            answer = Answer(None, IMPLAUSIBLE, answer.at_s)
        elif answer.reason != "no_function":
            return answer
    return answer


def _mib(used: int | None) -> int | None:
    return None if used is None or used >> 20 > MEMORY_MOST_MIB else used >> 20
