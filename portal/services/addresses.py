"""Where the database and the broker of this Allot answer. Starts nothing: settings read it at import.

The embedded PostgreSQL listens on a socket only. Its folder is not a function of ALLOT_HOME (a long path does not fit
into a socket's address, and `nobody` needs a folder outside root's home), so the start writes the address down and
everyone reads it. `postgres://allot@/allot?host=FOLDER` means the same to libpq, psycopg and django-environ.

The embedded Valkey listens on a loopback port with a password: celery and redis-py write the address of a socket in
different ways (`redis+socket://`, `unix://`), the address of a port in one.
"""

import os
from urllib.parse import quote

from portal.services.home import Home, allot_home, write_private

# Addresses on which nothing listens, for a state folder that was never started: asking for settings (`manage.py check`)
# must work, connecting must fail at once and must not reach a stranger's server on a well-known port.
NO_DATABASE = "postgres://allot@/allot?host="
NO_BROKER = "redis://127.0.0.1:1/0"


def database_url() -> str:
    """DATABASE_URL, or the address of the PostgreSQL that `manage.py up` runs for this ALLOT_HOME."""
    home = Home(allot_home())
    return os.environ.get("DATABASE_URL") or noted_address(home, "database_url") or NO_DATABASE + quote(str(home.run))


def redis_url() -> str:
    """REDIS_URL, or the address of the Valkey that `manage.py up` runs for this ALLOT_HOME."""
    return os.environ.get("REDIS_URL") or noted_address(Home(allot_home()), "redis_url") or NO_BROKER


def note_address(home: Home, name: str, url: str) -> None:
    """Later calls in any process find `url`; `name` is database_url or redis_url."""
    write_private(home.run / name, url)


def noted_address(home: Home, name: str) -> str:
    """The address last noted, "" if none was or it is not for this user to read."""
    try:
        return (home.run / name).read_text().strip()
    except (FileNotFoundError, PermissionError):
        return ""
