"""Logins of Unix ids, from a directory that may be slow or away."""

import pwd
import time
from collections.abc import Callable
from threading import Thread

KNOWN_FOR_S = 600.0
# A directory service that answers later is asked again; until then the number stands there.
ANSWER_WITHIN_S = 2.0


class Logins:
    """Remembers answers; waits for one question at a time, and not long."""

    def __init__(self, look_up: Callable[[int], str] = lambda uid: pwd.getpwuid(uid).pw_name) -> None:
        self._look_up = look_up
        self._known: dict[int, tuple[str, float]] = {}
        self._asking: Thread | None = None

    def of(self, uid: int) -> str:
        """The login, or the number where it has none or nobody answers."""
        login, until_s = self._known.get(uid, (str(uid), 0.0))
        if time.monotonic() < until_s or (self._asking and self._asking.is_alive()):
            return login
        # A daemon: a look-up that never returns must not keep the agent from ending.
        self._asking = Thread(target=self._ask, args=(uid,), daemon=True)
        self._asking.start()
        self._asking.join(ANSWER_WITHIN_S)
        return self._known.get(uid, (login, 0.0))[0]

    def _ask(self, uid: int) -> None:
        try:
            login = self._look_up(uid)
        except (KeyError, OSError):
            login = ""
        self._known[uid] = (login if login.isprintable() and login else str(uid)), time.monotonic() + KNOWN_FOR_S
