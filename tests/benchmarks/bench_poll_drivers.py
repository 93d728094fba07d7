"""How much a poll through the agent driver costs: `python -m tests.benchmarks.bench_poll_drivers --nodes 777`.

The simulated fleet runs in a process of its own, as real nodes would; only this process's CPU is counted.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from inventory.drivers import loop
from inventory.drivers.base import NodeAddress, Observed
from inventory.simulator import Control, certificate_in

CONTROL_TOKEN = "bench"
POLLS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=777)
    parser.add_argument("--gpus", type=int, default=8)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench(nodes=asked.nodes, gpus=asked.gpus, folder=Path(folder))


def bench(*, nodes: int, gpus: int, folder: Path) -> None:
    specs = [
        {"name": f"n{index}", "model": "NVIDIA A100", "gpus": gpus, "memory_mib": 81920, "token": f"t{index}"}
        for index in range(nodes)
    ]
    listed = folder / "nodes.json"
    listed.write_text(json.dumps(specs))
    simulator = subprocess.Popen(
        [sys.executable, "-m", "inventory.simulator", str(listed), str(folder / "state")],
        env=os.environ | {"SIMULATOR_CONTROL_TOKEN": CONTROL_TOKEN},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        port = int(re.search(r"control port (\d+)", simulator.stderr.readline())[1])
        control = Control(port=port, token=CONTROL_TOKEN)
        control.seed_holders({uuid: (f"project-{place % 12}", 1) for place, uuid in enumerate(control.gpus())})
        addresses = {node["name"]: node["address"] for node in control.fleet()["nodes"]}
        pin = certificate_in(folder / "state").sha256
        asked = [NodeAddress(spec["name"], addresses[spec["name"]], spec["token"], pin) for spec in specs]
        for poll in range(POLLS):
            _poll(asked, "handshakes" if poll == 0 else "kept alive")
    finally:
        loop.close()
        simulator.terminate()
        simulator.wait()


def _poll(nodes: list[NodeAddress], note: str) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    answers = loop.observe_many(nodes)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    seen = [answer.observation for _, answer in answers if isinstance(answer, Observed)]
    gpus = sum(len(observation.gpus) for observation in seen)
    sys.stdout.write(
        f"poll: nodes={len(seen)}/{len(nodes)} gpus={gpus} wall_s={wall:.2f} cpu_s={cpu:.2f} "
        f"cpu_us_per_gpu={cpu / max(gpus, 1) * 1e6:.0f} ({note})\n"
    )


if __name__ == "__main__":
    main()
