"""The supervisor as a program of its own: small, and gone at once when it is done. `manage.py up` becomes it."""

import argparse
import sys

from portal.services import parts
from portal.services.errors import CannotStart
from portal.services.home import Home, allot_home
from portal.services.supervisor import Supervisor


def main() -> None:
    parser = argparse.ArgumentParser(prog="manage.py up")
    parser.add_argument("--only", choices=parts.ONLY)
    for switch in ("--simulate", "--demo", "--no-migrate"):
        parser.add_argument(switch, action="store_true")
    asked = parser.parse_args()
    home = Home(allot_home())
    try:
        run = parts.plan(home, only=asked.only, simulate=asked.simulate, demo=asked.demo, migrate=not asked.no_migrate)
        Supervisor(home, parts.say).run(run)
    except CannotStart as error:
        parts.say(str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
