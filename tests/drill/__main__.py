"""`make drill [FLEET=nodes.csv]`: the whole job on embedded services of its own, checked in rows and on the nodes."""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import django

from tests.drill.processes import Portal, running
from tests.drill.report import Broken, Report

POLL_INTERVAL_S = "5"  # twice as often as in production: the drill waits for polls


def main() -> int:
    """Exit status 0 if every step held."""
    parser = argparse.ArgumentParser(prog="make drill", description=__doc__)
    parser.add_argument("--fleet", type=Path, help="a fleet file; without one the demo fleet")
    given: Path | None = parser.parse_args().fleet
    if given is not None and not given.is_file():
        parser.error(f"there is no file {given}")
    home = Path(tempfile.mkdtemp(prefix="allot-drill-"))
    report = Report()
    try:
        _play(home, report, given)
    except Broken:
        print(f"logs: {home}/logs", file=sys.stderr)
        return report.end()
    shutil.rmtree(home, ignore_errors=True)
    return report.end()


def _play(home: Path, report: Report, given: Path | None) -> None:
    portal = Portal(home, ALLOT_POLL_INTERVAL_S=POLL_INTERVAL_S)
    for name in ("DATABASE_URL", "REDIS_URL", "ALLOT_DEMO"):
        portal.env.pop(name, None)
        os.environ.pop(name, None)
    with running(portal, started=True):
        with report.step("portal started from nothing"):
            portal.start()
        os.environ |= {"ALLOT_HOME": str(home), "DJANGO_SETTINGS_MODULE": "portal.settings"}
        django.setup()
        # Only now are the settings there that these modules ask for.
        from portal.demo.fleet import write_fleet_file  # noqa: PLC0415
        from tests.drill.scenes import Drill  # noqa: PLC0415

        drill = Drill(portal, report, given or write_fleet_file(home / "demo-fleet.csv"))
        drill.a_fleet_comes_in()
        drill.decisions_are_made()
        drill.gpus_are_assigned()
        drill.a_project_winds_down()
        drill.minds_change()
        drill.all_is_in_order()


if __name__ == "__main__":
    sys.exit(main())
