"""`make soak MINUTES=30 AGENTS=2000`: kills at random moments, then what was stored is held against what was true."""

import argparse
import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

import django

from tests.benchmarks.poll_agents import allow_open_files
from tests.drill.processes import Portal, running
from tests.drill.report import Broken, Report
from tests.soak import truth


def main() -> int:
    """Exit status 0 if all held."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--agents", type=int, default=2000)
    parser.add_argument("--interval", type=int, default=10, help="seconds between polls")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="of what is killed when")
    asked = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="allot-soak-"))
    report = Report("soak")
    allow_open_files()
    try:
        _play(home, report, asked)
    except Broken:
        print(f"logs: {home}/logs", file=sys.stderr)
        return report.end()
    shutil.rmtree(home, ignore_errors=True)
    return report.end()


def _play(home: Path, report: Report, asked: argparse.Namespace) -> None:
    portal = Portal(home, ALLOT_POLL_INTERVAL_S=str(asked.interval))
    for name in ("DATABASE_URL", "REDIS_URL", "ALLOT_DEMO"):
        portal.env.pop(name, None)
        os.environ.pop(name, None)
    truth.give_out(asked.agents, home / "simulator")
    with running(portal, started=True):
        with report.step("portal started from nothing"):
            portal.start()
        os.environ |= {
            "ALLOT_HOME": str(home),
            "ALLOT_POLL_INTERVAL_S": str(asked.interval),
            "DJANGO_SETTINGS_MODULE": "portal.settings",
        }
        django.setup()
        # Only now are the settings there that these modules ask for.
        from tests.soak.soak import Soak  # noqa: PLC0415

        soak = Soak(portal, report, agents=asked.agents, seed=asked.seed)
        soak.a_fleet_comes_in()
        soak.things_are_killed(minutes=asked.minutes)
        soak.all_come_back()
        soak.rows_say_what_was_true()
        soak.parts_stay_as_small_as_they_were()


if __name__ == "__main__":
    sys.exit(main())
