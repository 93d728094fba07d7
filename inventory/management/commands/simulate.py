"""Run the declared nodes as simulated ones: `manage.py simulate`; SIGTERM and SIGINT end it at once."""

import asyncio
import gc
import json
import logging
import signal
from argparse import ArgumentParser
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import InterfaceError, OperationalError, close_old_connections
from django.utils.translation import gettext as _

from inventory import simulated
from inventory.simulator import Control, SimNode, SimulatedFleet

# Below the ports that Linux gives to outgoing connections (32768 and up), so that none of those is in the way.
BASE_PORT = 17_000
# Nodes that were imported meanwhile answer within that time.
LOOK_AGAIN_S = 3
HOLDERS = "holders.json"

log = logging.getLogger(__name__)


class Command(BaseCommand):
    """Serves until it is told to stop, with or without the database."""

    help = (
        "Simulate the declared nodes on this machine, over the node agent's real protocol. Real nodes are left alone."
    )

    # What is wrong with pages or the API is no reason for nodes to stay away.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--base-port", type=int, default=BASE_PORT, help="first port; 0 is any free one")
        parser.add_argument("--control-port", type=int, default=0, help="port of the remote control; 0 is any free one")
        parser.add_argument("--drain-s", type=float, default=4.0, help="how long processes go on after an order")
        parser.add_argument(
            "--holders",
            type=Path,
            help=f"JSON, node -> slot -> holder: for devices without an order (default: {HOLDERS} in the state folder)",
        )

    def handle(
        self,
        *args: Any,
        base_port: int,
        control_port: int,
        drain_s: float,
        holders: Path | None,
        **options: Any,
    ) -> None:
        state = simulated.state_folder()
        fleet = SimulatedFleet([], state=state, control_port=control_port, drain_s=drain_s)
        try:
            held = _read_holders(holders or state / HOLDERS, required=holders is not None)
            asyncio.run(self._serve(fleet, state, held, base_port))
        except OSError as error:
            raise CommandError(
                _("The simulated fleet cannot run: %(why)s. Another --base-port may help.") % {"why": error}
            ) from error

    async def _serve(
        self, fleet: SimulatedFleet, state: Path, holders: Mapping[str, Mapping[str, object]], base_port: int
    ) -> None:
        ended = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            # Own handlers: a child started by a shell's & inherits an ignored SIGINT.
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        await fleet.start()
        Control(port=fleet.desk.port, token=fleet.desk.token).note(state)
        # One thread, so that the database sees one connection.
        with ThreadPoolExecutor(1, "database") as database:
            while not ended.is_set():
                await self._follow(fleet, holders, base_port, database)
                await _wait(ended, LOOK_AGAIN_S)
        await fleet.stop()

    async def _follow(
        self,
        fleet: SimulatedFleet,
        holders: Mapping[str, Mapping[str, object]],
        base_port: int,
        database: ThreadPoolExecutor,
    ) -> None:
        """The fleet is as the database declares it, and the database knows how to speak to it."""
        loop = asyncio.get_running_loop()
        try:
            wanted = await loop.run_in_executor(database, _wanted, base_port, frozenset(fleet.nodes))
            fresh = simulated.changed(fleet, wanted)
            if fresh:
                await fleet.put(fresh)
                simulated.seed_holders(fleet, holders)
                await loop.run_in_executor(database, simulated.enrol, fleet)
                # Thousands of objects that live until the end need not be looked through again and again.
                gc.collect()
                gc.freeze()
                self.stdout.write(
                    _("simulated nodes: %(nodes)d, control port %(port)d")
                    % {"nodes": len(fleet.nodes), "port": fleet.desk.port}
                )
        except (OperationalError, InterfaceError) as error:
            log.warning("the database does not answer; the nodes go on: %s", error)


def _wanted(base_port: int, running: frozenset[str]) -> list[SimNode]:
    close_old_connections()
    return simulated.specs(base_port=base_port, running=running)


def _read_holders(path: Path, *, required: bool) -> Mapping[str, Mapping[str, object]]:
    if not required and not path.exists():
        return {}
    try:
        holders: dict[str, dict[str, object]] = json.loads(path.read_text())
    except ValueError as error:
        raise CommandError(_("%(file)s is not JSON: %(why)s") % {"file": path, "why": error}) from error
    return holders


async def _wait(ended: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(ended.wait(), seconds)
    except TimeoutError:
        return
