"""`make clean`: the state folder with its database is gone, unless something runs from it."""

import sys

from portal.services.claims import Claim
from portal.services.errors import AlreadyRunning
from portal.services.home import Home, allot_home


def clean(home: Home) -> None:
    """The state folder and what it keeps outside are gone.

    Raises AlreadyRunning.
    """
    for lock in sorted(home.run.glob("*.lock")):
        Claim(home, lock.stem).take()
    home.remove()


if __name__ == "__main__":
    try:
        clean(Home(allot_home()))
    except AlreadyRunning as error:
        sys.exit(str(error))
