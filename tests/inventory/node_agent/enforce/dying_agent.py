"""An agent in a process of its own that takes one order, and may be killed on its way to make it true.

`python -m ... FOLDER STEP TIMES ORDER`: it kills itself with SIGKILL when it reaches STEP for the TIMES-th time, at
"none" never. ORDER is in the bytes of the wire.
"""

import os
import signal
import sys
import time
from pathlib import Path

from inventory.node_agent.enforce import Enforcer, Layout, Policy, Step
from inventory.node_agent.protocol import Order, parse_order
from tests.inventory.node_agent.enforce.machine import GPU_0, Clock, node_seen

LIMIT_S = float(os.environ.get("ALLOT_TEST_LIMIT_S", "30"))


def main(folder: str, step: str, times: str, body: str) -> None:
    left = int(times)

    def die_at(reached: Step) -> None:
        nonlocal left
        left -= reached.name == step
        if left == 0 and reached.name == step:
            os.kill(os.getpid(), signal.SIGKILL)

    root, clock, order = Path(folder), Clock(), parse_order(body.encode())
    layout = Layout(root / "state", root / "dev", Path("/proc"), root / "driver/nvidia")
    work_until_true(Enforcer(layout, Policy(grace_s=5.0), clock=clock, steady=clock, on_step=die_at), clock, order)


def work_until_true(enforcer: Enforcer, clock: Clock, order: Order) -> None:
    """The order was given, and holds."""
    enforcer.ensure(GPU_0, order, node_seen())
    ends_at_s = time.monotonic() + LIMIT_S
    seen = enforcer.look(node_seen())[0]
    while (seen.holder, seen.generation) != (order.holder, order.generation):
        assert time.monotonic() < ends_at_s, seen
        clock.now_s += 5
        enforcer.reconcile(node_seen())
        seen = enforcer.look(node_seen())[0]


if __name__ == "__main__":
    main(*sys.argv[1:])
