"""Run a simulated fleet from a file: `python -m inventory.simulator NODES.json STATE_FOLDER`.

The file holds a list of objects with the fields of `SimNode`. The control token is read from the environment.
"""

import argparse
import json
import logging
import os
from pathlib import Path

from inventory.simulator.fleet import SimulatedFleet
from inventory.simulator.node import SimNode

CONTROL_TOKEN = "SIMULATOR_CONTROL_TOKEN"  # noqa: S105 - the variable's name


def main() -> None:
    """Serves until it is told to stop, and says so once every port is open."""
    parser = argparse.ArgumentParser(prog="python -m inventory.simulator", description=__doc__)
    parser.add_argument("nodes", type=Path)
    parser.add_argument("state", type=Path)
    parser.add_argument("--control-port", type=int, default=0)
    parser.add_argument("--drain-s", type=float, default=4.0)
    asked = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    fleet = SimulatedFleet(
        [SimNode(**node) for node in json.loads(asked.nodes.read_text())],
        state=asked.state,
        control_token=os.environ.get(CONTROL_TOKEN),
        control_port=asked.control_port,
        drain_s=asked.drain_s,
    )
    fleet.run(on_ready=_tell)


def _tell(fleet: SimulatedFleet) -> None:
    logging.getLogger(__name__).info("simulated nodes: %d, control port %d", len(fleet.nodes), fleet.desk.port)


if __name__ == "__main__":
    main()
